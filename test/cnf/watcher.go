package cnf

import (
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// watcher is one open watch. It queues events for its reader, so that a slow reader blocks nothing.
type watcher struct {
	resource  schema.GroupVersionResource
	namespace string // "" is every one
	as        view
	out       chan watch.Event
	closed    func(*watcher)

	mu      sync.Mutex
	waiting []event
	more    chan struct{} // size one
	ended   chan struct{}
	once    sync.Once
}

// watch opens a watch of the events after a version; 0 begins with all objects. a.mu is locked.
func (a *API) watch(gvr schema.GroupVersionResource, namespace string, since int64, as view) (watch.Interface, error) {
	if since > 0 && since < a.faults.oldest {
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	w := &watcher{
		resource: gvr, namespace: namespace, as: as, closed: a.forget,
		out: make(chan watch.Event), more: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	if since == 0 {
		for _, o := range a.list(gvr, namespace) {
			w.offer(event{of: address{gvr, o.GetNamespace(), o.GetName()}, typ: watch.Added, object: o})
		}
	} else {
		for _, e := range a.history {
			if e.version > since {
				w.offer(e)
			}
		}
	}
	a.watchers[w] = true
	go w.run()
	return w, nil
}

func (a *API) forget(w *watcher) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.watchers, w)
}

// offer queues an event if w watches its object. It does not block.
func (w *watcher) offer(e event) {
	if e.of.resource != w.resource || w.namespace != "" && e.of.namespace != w.namespace {
		return
	}
	w.mu.Lock()
	w.waiting = append(w.waiting, e)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *watcher) run() {
	defer close(w.out)
	for {
		select {
		case <-w.ended:
			return
		case <-w.more:
		}
		w.mu.Lock()
		events := w.waiting
		w.waiting = nil
		w.mu.Unlock()
		for _, e := range events {
			o, err := w.as.of(e.object)
			event := watch.Event{Type: e.typ, Object: o}
			if err != nil {
				event = watch.Event{Type: watch.Error, Object: &metav1.Status{Message: err.Error()}}
			}
			select {
			case <-w.ended:
				return
			case w.out <- event:
			}
		}
	}
}

// Stop ends the watch.
func (w *watcher) Stop() {
	w.once.Do(func() { close(w.ended) })
	w.closed(w)
}

// ResultChan returns the events, in order.
func (w *watcher) ResultChan() <-chan watch.Event { return w.out }
