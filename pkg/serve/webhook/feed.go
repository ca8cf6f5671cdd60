package webhook

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// Source delivers the objects needed for reviews. See source.Source for Wake, Drain and Get.
type Source interface {
	Wake() <-chan struct{}
	Drain() []object.Ref
	Get(ref object.Ref) (runtime.Object, bool)
	// Reads reports whether the source has the objects of a kind.
	Reads(kind string) bool
	// Listed reports whether a following Drain returns the last of those objects of a kind that existed at the start.
	Listed(kind string) bool
	// Absent reports whether the API does not have a kind, and need not have it.
	Absent(kind string) bool
	// Failure returns why a kind cannot be listed or watched at present; nil if it can.
	Failure(kind string) error
}

// feed tracks the objects of one kind.
type feed struct {
	source.Resource
	from     Source
	optional bool // reviews are answered even without permission to list it, or without the kind

	known  atomic.Bool // everything that existed at the start has been read
	logged string      // the last failure; only Feed uses it
}

// Feed reads what the sources deliver until ctx ends. It does not run them.
func (s *Server) Feed(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for from, feeds := range s.bySource() {
		running.Go(func() {
			for {
				s.drain(from, feeds)
				select {
				case <-ctx.Done():
					return
				case <-from.Wake():
				}
			}
		})
	}
}

// bySource returns the feeds of each source, by kind.
func (s *Server) bySource() map[Source]map[string]*feed {
	all := map[Source]map[string]*feed{}
	for _, f := range s.feeds {
		if all[f.from] == nil {
			all[f.from] = map[string]*feed{}
		}
		all[f.from][f.Kind] = f
	}
	return all
}

// drain reads what changed in a source, and logs which failures began or ended.
func (s *Server) drain(from Source, feeds map[string]*feed) {
	var listed []*feed
	for _, f := range feeds {
		if from.Listed(f.Kind) { // checked first: what has been listed by now is drained below
			listed = append(listed, f)
		}
	}
	for _, ref := range from.Drain() {
		if feeds[ref.Kind] != nil {
			s.update(from, ref)
		}
	}
	if s.adviser != nil {
		s.adviser.Prepare() // before it counts as ready
	}
	for _, f := range listed {
		f.known.Store(true)
	}
	for _, f := range feeds {
		f.log(s.log)
	}
}

// log reports a failure once, and its end.
func (f *feed) log(log logrus.FieldLogger) {
	text := ""
	err := f.from.Failure(f.Kind)
	if err != nil {
		text = err.Error()
	}
	if text == f.logged {
		return
	}
	f.logged = text
	if log = log.WithField("resource", f.Plural); err != nil {
		log.WithError(err).Warn("cannot list or watch")
		return
	}
	log.Info("watching again")
}

// missing returns why nothing that needs f can be judged; "" if it can.
func (f *feed) missing() string {
	err := f.from.Failure(f.Kind)
	switch {
	case f.known.Load(), f.from.Absent(f.Kind), f.optional && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)):
		return ""
	case err == nil:
		return f.Plural + " have not been listed"
	default:
		return f.Plural + " have not been listed: " + err.Error()
	}
}

// degraded describes what reviews lack, or have outdated objects of; "" if nothing.
func (f *feed) degraded() string {
	err := f.from.Failure(f.Kind)
	switch {
	case err == nil:
		return ""
	case f.known.Load():
		return "degraded: " + f.Plural + " may have changed since they were listed: " + err.Error()
	case object.IsPolicy(f.Kind):
		return "degraded: policies are not compared with " + f.Plural + ": " + err.Error()
	case f.optional:
		return "degraded: references to " + f.Plural + " are not checked: " + err.Error()
	default:
		return "" // nothing is judged without it
	}
}
