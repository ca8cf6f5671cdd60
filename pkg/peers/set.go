package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/source"
	"github.com/netloom/netloom/translator"
)

// Kinds lists the kinds that are read of other clusters.
func Kinds() []string { return []string{object.KindNamespace, object.KindPod} }

// DefaultPatience is how long the first snapshot waits for clusters that cannot be read yet.
const DefaultPatience = 30 * time.Second

// Cluster is another cluster.
type Cluster struct {
	Name   string
	Source source.Source // of Kinds
}

// Set is the other clusters of a set. Feed is called by one goroutine; the other methods are safe for concurrent use.
type Set struct {
	clusters []*cluster
	log      logrus.FieldLogger
	wake     chan struct{} // of size 1

	mu       sync.Mutex
	patience time.Duration // 0 once it is over
}

// cluster is what is known of another cluster.
type cluster struct {
	Cluster

	mu   sync.Mutex
	lost time.Time // since when it cannot be read; zero if it can
	pods int
	refs map[object.Ref]struct{} // of the objects that it has
}

// New makes a set of other clusters. Zero patience is DefaultPatience; it begins with Run.
func New(clusters []Cluster, patience time.Duration, log logrus.FieldLogger) *Set {
	if patience == 0 {
		patience = DefaultPatience
	}
	s := &Set{log: log, wake: make(chan struct{}, 1), patience: patience}
	for _, c := range clusters {
		s.clusters = append(s.clusters, &cluster{Cluster: c, refs: map[object.Ref]struct{}{}})
	}
	slices.SortFunc(s.clusters, func(a, b *cluster) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Run reads the clusters until ctx ends. It fails if one of them cannot be read at all.
func (s *Set) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	timer := time.AfterFunc(s.patience, s.giveUp)
	defer timer.Stop()
	for _, c := range s.clusters {
		group.Go(func() error {
			if err := c.Source.Run(ctx); err != nil && ctx.Err() == nil {
				return fmt.Errorf("cluster %s: %w", c.Name, err)
			}
			return nil
		})
		group.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-c.Source.Wake():
					s.notice(c)
					s.ring()
				}
			}
		})
	}
	return group.Wait()
}

// Read reads every cluster once. It fails if that takes longer than ctx: what is shown without one would be wrong. A nil set has
// nothing to read.
func (s *Set) Read(ctx context.Context) error {
	if s == nil {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	reading, cancel := context.WithCancel(ctx)
	group.Go(func() error { return s.Run(reading) })
	group.Go(func() error {
		defer cancel()
		return s.await(ctx)
	})
	return group.Wait()
}

// await waits until every cluster has been read.
func (s *Set) await(ctx context.Context) error {
	for !s.allRead() {
		select {
		case <-s.wake:
		case <-ctx.Done():
			var faults []error
			for _, p := range s.Problems() {
				faults = append(faults, p)
			}
			return fmt.Errorf("other clusters were not listed in time: %w", errors.Join(faults...))
		}
	}
	return nil
}

func (s *Set) allRead() bool {
	return !slices.ContainsFunc(s.clusters, func(c *cluster) bool { return !c.Source.Synced() })
}

// giveUp ends the wait for clusters that cannot be read.
func (s *Set) giveUp() {
	s.mu.Lock()
	s.patience = 0
	s.mu.Unlock()
	for _, c := range s.clusters {
		if !c.Source.Synced() {
			s.log.WithField("cluster", c.Name).Warn("cannot be read yet: its pods match no policy")
		}
	}
	s.ring()
}

func (s *Set) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// notice records whether a cluster can be read.
func (s *Set) notice(c *cluster) {
	lost := c.Source.Synced() && slices.ContainsFunc(c.Source.Problems(), func(p object.Problem) bool {
		return p.Unread != object.UnreadNothing
	})
	c.mu.Lock()
	was := c.lost
	switch {
	case lost && was.IsZero():
		c.lost = time.Now()
	case !lost:
		c.lost = time.Time{}
	}
	c.mu.Unlock()
	switch log := s.log.WithField("cluster", c.Name); {
	case lost && was.IsZero():
		log.Warn("cannot be read: its pods stay as they were")
	case !lost && !was.IsZero():
		log.WithField("after", time.Since(was).Round(time.Second)).Info("can be read again")
	}
}

// Wake receives when a cluster changed, or when Ready or Problems may have.
func (s *Set) Wake() <-chan struct{} { return s.wake }

// Ready reports whether every cluster has been read once, or the wait for those that cannot be read is over. Without them,
// connections that they allow are not allowed.
func (s *Set) Ready() bool {
	s.mu.Lock()
	patient := s.patience > 0
	s.mu.Unlock()
	return !patient || s.allRead()
}

// Feed brings a translator up to date.
func (s *Set) Feed(t *translator.Translator) {
	for _, c := range s.clusters {
		refs := c.Source.Drain()
		for _, ref := range refs {
			o, ok := c.Source.Get(ref)
			c.keep(ref, ok)
			if !ok {
				t.RemovePeer(c.Name, ref.Kind, ref.Namespace, ref.Name)
				continue
			}
			if err := t.PutPeer(c.Name, o); err != nil {
				s.log.WithError(err).WithField("object", ref.String()).Warn("object left out")
			}
		}
		if len(refs) > 0 {
			c.mu.Lock()
			c.pods = t.PeerPods(c.Name)
			c.mu.Unlock()
		}
	}
}

// keep records whether the cluster has an object.
func (c *cluster) keep(ref object.Ref, has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if has {
		c.refs[ref] = struct{}{}
	} else {
		delete(c.refs, ref)
	}
}

// Foreign returns what was read of the clusters, by name.
func (s *Set) Foreign() []source.Foreign {
	out := make([]source.Foreign, 0, len(s.clusters))
	for _, c := range s.clusters {
		c.mu.Lock()
		refs := slices.SortedFunc(maps.Keys(c.refs), object.Ref.Compare)
		c.mu.Unlock()
		out = append(out, source.Foreign{Cluster: c.Name, Source: c.Source, Refs: refs, Unread: c.State().unread()})
	}
	return out
}

// Problems lists what cannot be read, and the objects that do not fit their type.
func (s *Set) Problems() []object.Problem {
	var out []object.Problem
	for _, c := range s.clusters {
		out = append(out, c.problems()...)
	}
	return out
}

// problems lists the problems of a cluster. They concern only its pods as peers: nothing of the own cluster is unread.
func (c *cluster) problems() []object.Problem {
	all := slices.Clone(c.Source.Problems())
	synced, state := c.Source.Synced(), c.State()
	for i := range all {
		p := &all[i]
		p.Cluster, p.Place.Path = c.Name, "cluster "+c.Name+": "+p.Place.Path
		if p.Unread == object.UnreadNothing {
			continue
		}
		p.Unread = object.UnreadNothing
		if synced {
			p.Message += "; its pods stay as they were at " + state.Lost.UTC().Format(time.TimeOnly)
		} else {
			p.Message += "; its pods match no policy"
		}
	}
	return all
}

// State is what is known of another cluster.
type State struct {
	Name   string
	Synced bool      // it has been read once
	Lost   time.Time // since when it cannot be read; zero if it can
	Pods   int
}

// State returns what is known of c.
func (c *cluster) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return State{Name: c.Name, Synced: c.Source.Synced(), Lost: c.lost, Pods: c.pods}
}

// States lists what is known of the clusters, by name.
func (s *Set) States() []State {
	out := make([]State, len(s.clusters))
	for i, c := range s.clusters {
		out[i] = c.State()
	}
	return out
}

// Degraded describes, a line each, the clusters that cannot be read.
func (s *Set) Degraded() []string {
	if s == nil {
		return nil
	}
	var out []string
	for _, c := range s.States() {
		if text := c.unread(); text != "" {
			out = append(out, "degraded: cluster "+c.Name+" "+text)
		}
	}
	return out
}

// unread describes that a cluster cannot be read; "" if it can.
func (s State) unread() string {
	switch {
	case !s.Synced:
		return "has not been read: its pods match no policy"
	case !s.Lost.IsZero():
		return fmt.Sprintf("has not been readable for %s: its %d pods stay as they were", time.Since(s.Lost).Round(time.Second), s.Pods)
	default:
		return ""
	}
}
