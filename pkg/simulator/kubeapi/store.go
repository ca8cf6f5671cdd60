package kubeapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// remembered is how many changes the server keeps for watches.
const remembered = 1024

// change is an event of a watch.
type change struct {
	version uint64
	kind    string
	event   watch.EventType
	object  *unstructured.Unstructured // is not changed
	before  *unstructured.Unstructured // nil if there was none
}

// store holds objects and their last changes.
type store struct {
	now func() time.Time

	mu      sync.Mutex
	version uint64
	objects map[string]map[string]*unstructured.Unstructured // by kind, and by namespace and name
	changes []change
	woke    chan struct{} // closed with the next change
}

func newStore() *store {
	return &store{now: time.Now, version: 1, objects: map[string]map[string]*unstructured.Unstructured{}, woke: make(chan struct{})}
}

func key(namespace, name string) string { return namespace + "/" + name }

// put creates or replaces an object.
func (s *store) put(o *unstructured.Unstructured) error {
	k := kindOf(func(k *kind) bool { return k.GroupVersionKind == o.GroupVersionKind() })
	switch {
	case k == nil:
		return fmt.Errorf("%s: the simulated API server does not have this kind", o.GroupVersionKind())
	case o.GetName() == "" || k.namespaced != (o.GetNamespace() != ""):
		return fmt.Errorf("%s %s/%s: a name is required, and a namespace only for kinds that have one", k.Kind, o.GetNamespace(), o.GetName())
	}
	o = o.DeepCopy()
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.objects[k.plural]
	if of == nil {
		of = map[string]*unstructured.Unstructured{}
		s.objects[k.plural] = of
	}
	at := key(o.GetNamespace(), o.GetName())
	before, event := of[at], watch.Modified
	s.version++
	if before == nil {
		event = watch.Added
		o.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", s.version)))
		o.SetCreationTimestamp(metav1.NewTime(s.now()))
	} else {
		o.SetUID(before.GetUID())
		o.SetCreationTimestamp(before.GetCreationTimestamp())
	}
	o.SetResourceVersion(strconv.FormatUint(s.version, 10))
	of[at] = o
	s.note(change{s.version, k.plural, event, o, before})
	return nil
}

var errNotFound = errors.New("not found")

// remove deletes an object.
func (s *store) remove(plural, namespace, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.objects[plural][key(namespace, name)]
	if before == nil {
		return fmt.Errorf("%s %s/%s: %w", plural, namespace, name, errNotFound)
	}
	delete(s.objects[plural], key(namespace, name))
	s.version++
	last := before.DeepCopy()
	last.SetResourceVersion(strconv.FormatUint(s.version, 10))
	s.note(change{s.version, plural, watch.Deleted, last, before})
	return nil
}

// note keeps a change and wakes watches. The caller holds the lock.
func (s *store) note(c change) {
	s.changes = append(s.changes, c)
	if len(s.changes) > remembered {
		s.changes = slices.Delete(s.changes, 0, len(s.changes)-remembered)
	}
	close(s.woke)
	s.woke = make(chan struct{})
}

// query selects objects of a kind.
type query struct {
	kind      *kind
	namespace string // "" is all
	labels    labels.Selector
	fields    fields.Selector // of metadata.name and metadata.namespace
}

func (q *query) selects(o *unstructured.Unstructured) bool {
	return o != nil && (q.namespace == "" || o.GetNamespace() == q.namespace) && q.labels.Matches(labels.Set(o.GetLabels())) &&
		q.fields.Matches(fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()})
}

// get returns an object; nil if there is none.
func (s *store) get(plural, namespace, name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[plural][key(namespace, name)]
}

// list returns objects in the order of their names, and the version of the state that they are of.
func (s *store) list(q *query) (out []*unstructured.Unstructured, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.objects[q.kind.plural] {
		if q.selects(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(key(a.GetNamespace(), a.GetName()), key(b.GetNamespace(), b.GetName()))
	})
	return out, s.version
}

// errExpired means that changes after a version are not remembered any more.
var errExpired = errors.New("too old resource version")

// since returns the events after a version as a watch of the query shows them, the version that they lead to, and what is closed once
// there are more.
func (s *store) since(q *query, version uint64) (events []watch.Event, now uint64, more <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version < s.version && (len(s.changes) == 0 || version+1 < s.changes[0].version) {
		return nil, 0, nil, errExpired
	}
	for _, c := range s.changes {
		if c.version <= version || c.kind != q.kind.plural {
			continue
		}
		was, is := q.selects(c.before), c.event != watch.Deleted && q.selects(c.object)
		switch {
		case was && is:
			events = append(events, watch.Event{Type: watch.Modified, Object: c.object})
		case is:
			events = append(events, watch.Event{Type: watch.Added, Object: c.object})
		case was:
			events = append(events, watch.Event{Type: watch.Deleted, Object: c.object})
		}
	}
	return events, s.version, s.woke, nil
}
