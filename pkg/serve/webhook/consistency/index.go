package consistency

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

// Index is the existing objects that changes are compared with. NewIndex makes one. All methods are safe for concurrent
// use.
type Index struct {
	mu      sync.RWMutex
	objects map[object.Ref]*entry
	users   map[object.Ref]map[object.Ref]bool // the objects that refer to a name, whether it exists or not
	works   map[scope]map[object.Ref]bool      // workloads by the CNF they are for
	unknown map[string]bool                    // kinds that cannot be listed
}

// entry is what is kept of an object.
type entry struct {
	purpose    string
	going      bool // it is being deleted, so it needs nothing, and nothing should depend on it
	references []v1alpha1.ObjectReference
}

// scope is a CNF: the workload with a purpose in a namespace.
type scope struct{ namespace, purpose string }

// NewIndex makes an empty Index.
func NewIndex() *Index {
	return &Index{
		objects: map[object.Ref]*entry{}, users: map[object.Ref]map[object.Ref]bool{}, works: map[scope]map[object.Ref]bool{}, unknown: map[string]bool{},
	}
}

// Put stores an SD-WAN object of pkg/apis/sdewan/v1alpha1.
func (x *Index) Put(kind string, o metav1.Object) {
	key := keyOf(kind, o)
	e := &entry{
		purpose: o.GetLabels()[v1alpha1.LabelPurpose], going: o.GetDeletionTimestamp() != nil,
		references: v1alpha1.ReferencesOf(o),
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(key)
	x.objects[key] = e
	for _, r := range e.references {
		target := object.Ref{Kind: r.Kind, Namespace: key.Namespace, Name: r.Name}
		if x.users[target] == nil {
			x.users[target] = map[object.Ref]bool{}
		}
		x.users[target][key] = true
	}
}

// PutWorkload stores a Deployment or another kind that creates pods. Only its metadata is used.
func (x *Index) PutWorkload(kind string, o metav1.Object) {
	key := keyOf(kind, o)
	purpose := o.GetLabels()[v1alpha1.LabelPurpose]
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(key)
	if purpose == "" || o.GetDeletionTimestamp() != nil {
		return
	}
	x.objects[key] = &entry{purpose: purpose}
	s := scope{key.Namespace, purpose}
	if x.works[s] == nil {
		x.works[s] = map[object.Ref]bool{}
	}
	x.works[s][key] = true
}

// Remove removes an object or a workload.
func (x *Index) Remove(key object.Ref) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(key)
}

// SetUnknown sets whether the objects of a kind cannot be listed, for example for lack of permission. None of that kind is
// reported as missing then.
func (x *Index) SetUnknown(kind string, unknown bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unknown[kind] = unknown
}

// drop removes an object. The caller holds the lock.
func (x *Index) drop(key object.Ref) {
	e := x.objects[key]
	if e == nil {
		return
	}
	delete(x.objects, key)
	for _, r := range e.references {
		target := object.Ref{Kind: r.Kind, Namespace: key.Namespace, Name: r.Name}
		delete(x.users[target], key)
		if len(x.users[target]) == 0 {
			delete(x.users, target)
		}
	}
	s := scope{key.Namespace, e.purpose}
	delete(x.works[s], key)
	if len(x.works[s]) == 0 {
		delete(x.works, s)
	}
}

// usersOf lists the objects of a CNF that need an object, in order. The caller holds the lock.
func (x *Index) usersOf(key object.Ref, purpose string) []object.Ref {
	var found []object.Ref
	for user := range x.users[key] {
		if e := x.objects[user]; e.purpose == purpose && !e.going {
			found = append(found, user)
		}
	}
	slices.SortFunc(found, object.Ref.Compare)
	return found
}

func keyOf(kind string, o metav1.Object) object.Ref {
	return object.Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}
