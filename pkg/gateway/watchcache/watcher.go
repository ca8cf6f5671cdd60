package watchcache

import (
	"slices"
	"sync"
)

// maxQueue is how many events wait for one client. If there are more, the client reads on from the history.
const maxQueue = 64

// scope is what an event is looked up by to find who may want it.
type scope struct{ namespace, node string }

// watcher is the queue of one client's watch.
type watcher struct {
	scope scope
	wake  chan struct{} // has room for one

	mu     sync.Mutex
	queue  []*event
	behind bool // there were more events than the queue holds: no longer subscribed
	ended  bool
	cause  error // why it ended; nil says nothing to the client
}

func newWatcher(s scope) *watcher { return &watcher{scope: s, wake: make(chan struct{}, 1)} }

// offer queues e and reports whether there was room.
func (w *watcher) offer(e *event) bool {
	w.mu.Lock()
	room := len(w.queue) < maxQueue
	if room {
		w.queue = append(w.queue, e)
	} else {
		w.behind = true
	}
	w.mu.Unlock()
	w.ring()
	return room
}

func (w *watcher) end(cause error) {
	w.mu.Lock()
	w.ended, w.cause = true, cause
	w.mu.Unlock()
	w.ring()
}

func (w *watcher) ring() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (w *watcher) take() (queue []*event, behind, ended bool, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue, behind = w.queue, w.behind
	w.queue, w.behind = nil, false
	return queue, behind, w.ended, w.cause
}

// subscribe is called with the lock of h held, as are the next three.
func (h *history) subscribe(w *watcher) {
	set := h.watchers[w.scope]
	if set == nil {
		set = map[*watcher]bool{}
		h.watchers[w.scope] = set
	}
	set[w] = true
}

func (h *history) drop(w *watcher) {
	set := h.watchers[w.scope]
	delete(set, w)
	if len(set) == 0 {
		delete(h.watchers, w.scope)
	}
}

// dispatch queues e for those whose scope contains the object, before or after the change.
func (h *history) dispatch(e *event) {
	object := e.now
	if object == nil {
		object = e.gone
	}
	nodes := []string{"", object.fields[fieldNode]}
	if e.old != nil {
		nodes = append(nodes, e.old.fields[fieldNode])
	}
	slices.Sort(nodes)
	namespaces := []string{"", object.namespace}
	for _, node := range slices.Compact(nodes) {
		for _, namespace := range slices.Compact(namespaces) {
			for w := range h.watchers[scope{namespace, node}] {
				if !w.offer(e) {
					h.drop(w)
				}
			}
		}
	}
}

func (h *history) endAll(cause error) {
	for _, set := range h.watchers {
		for w := range set {
			w.end(cause)
		}
	}
	clear(h.watchers)
}

// unsubscribe ends the subscription of w, if there is one.
func (h *history) unsubscribe(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(w)
}

// end ends all watches without an error.
func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endAll(nil)
}

// quiet returns the version up to which w has received everything, if nothing is queued for it.
func (h *history) quiet(w *watcher) (uint64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return h.version, h.synced && len(w.queue) == 0 && !w.behind && !w.ended
}

// count returns how many watches are subscribed.
func (h *history) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, set := range h.watchers {
		n += len(set)
	}
	return n
}
