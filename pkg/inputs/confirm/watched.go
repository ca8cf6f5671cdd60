package confirm

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// watched is a watch that passes on what another delivers.
type watched struct {
	inner  apiwatch.Interface
	out    chan apiwatch.Event
	once   sync.Once
	ended  chan struct{} // closed by Stop
	expire chan string   // of size 1: ends it, with an error of this message unless it is ""
}

// ResultChan implements watch.Interface.
func (w *watched) ResultChan() <-chan apiwatch.Event { return w.out }

// Stop implements watch.Interface.
func (w *watched) Stop() {
	w.once.Do(func() {
		close(w.ended)
		w.inner.Stop()
	})
}

func (w *watched) run(ctx context.Context, h *heard) {
	defer close(w.out)
	defer w.inner.Stop()
	for {
		select {
		case <-w.ended:
			return
		case why := <-w.expire:
			if why != "" {
				// The informer answers an expired version by listing.
				status := apierrors.NewResourceExpired(why).Status()
				w.pass(apiwatch.Event{Type: apiwatch.Error, Object: &status})
			}
			return
		case event, ok := <-w.inner.ResultChan():
			if !ok {
				return
			}
			if o, ok := event.Object.(metav1.ObjectMetaAccessor); ok && event.Type != apiwatch.Error {
				bookmark := event.Type == apiwatch.Bookmark
				if bookmark {
					h.promises()
				}
				h.note(ctx, o.GetObjectMeta().GetResourceVersion(), bookmark)
			}
			if !w.pass(event) {
				return
			}
		}
	}
}

func (w *watched) pass(event apiwatch.Event) bool {
	select {
	case w.out <- event:
		return true
	case <-w.ended:
		return false
	}
}
