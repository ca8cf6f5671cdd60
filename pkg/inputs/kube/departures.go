package kube

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// departureGrace is how long the deletion of an object waits until the API is asked for the definition of its kind. An API server deletes
// the objects of a definition that is removed just after it marks the definition, and discovery shows that a moment later.
const departureGrace = time.Second

// departures are objects of a kind that a definition makes, and that the API has deleted: by itself if the definition is removed.
type departures struct {
	some chan struct{} // of size 1

	mu   sync.Mutex
	refs map[object.Ref]*source.Resource
}

func newDepartures() *departures {
	return &departures{some: make(chan struct{}, 1), refs: map[object.Ref]*source.Resource{}}
}

func (d *departures) add(r *source.Resource, ref object.Ref) {
	d.mu.Lock()
	d.refs[ref] = r
	d.mu.Unlock()
	select {
	case d.some <- struct{}{}:
	default:
	}
}

// take returns the objects that have gone, by their kind.
func (d *departures) take() map[*source.Resource][]object.Ref {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[*source.Resource][]object.Ref{}
	for ref, r := range d.refs {
		out[r] = append(out[r], ref)
	}
	clear(d.refs)
	return out
}

// judgeDepartures decides, until ctx ends, whether objects were deleted or only lost with the definition of their kind. What an API
// that does not answer has deleted stays undecided, and so in force.
func (k *Source) judgeDepartures(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.departures.some:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(departureGrace):
		}
		for r, refs := range k.departures.take() {
			for pause := askAgainMin; ; pause = min(2*pause, askAgainMax) {
				how, err := k.departure(r)
				if err == nil {
					k.MarkGone(how, refs...)
					break
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(pause):
				}
			}
		}
	}
}

// departure asks discovery, which is open to all, how objects of a kind have gone. A definition that is being removed does not accept new objects.
func (k *Source) departure(r *source.Resource) (source.Departure, error) {
	found, err := k.client.Discovery().ServerResourcesForGroupVersion(r.Version.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return source.Missing, err
	}
	if err == nil && slices.ContainsFunc(found.APIResources, func(f metav1.APIResource) bool {
		return f.Name == r.Plural && slices.Contains(f.Verbs, "create")
	}) {
		return source.Deleted, nil
	}
	k.log.WithField("resource", r.String()).Warn("the definition of this kind is removed, and its objects with it: policies among them stay in force")
	return source.Lost, nil
}
