package cnf

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// API is the part of a Kubernetes API server that controllers rely on: versions, generations, finalizers, the status
// subresource, conflicts, watches from an earlier version. It does not validate objects: deploy/crds is tested elsewhere.
// It is safe for concurrent use.
type API struct {
	kinds map[schema.GroupVersionResource]kind

	mu       sync.Mutex
	version  int64
	objects  map[address]*unstructured.Unstructured
	history  []event // all events, in order
	watchers map[*watcher]bool
	faults   apiFaults
	counts   map[string]int // of requests by verb and resource, such as "update mwan3rules/status"
}

// kind is a server's description of a resource.
type kind struct {
	schema.GroupVersionKind
	custom bool // it has a status subresource, and a generation that grows with changes of everything else
}

// address is the resource, namespace and name of an object.
type address struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func (a address) String() string { return a.resource.Resource + " " + a.namespace + "/" + a.name }

// event is one change of one object.
type event struct {
	version int64
	of      address
	typ     watch.EventType
	object  *unstructured.Unstructured // read-only
}

// NewAPI makes an empty server with the kinds that netloom reads.
func NewAPI() *API {
	return &API{
		kinds: kinds(), objects: map[address]*unstructured.Unstructured{}, watchers: map[*watcher]bool{}, counts: map[string]int{},
	}
}

// Create adds an object.
func (a *API) Create(o *unstructured.Unstructured) error {
	gvr, k, err := a.kindOf(o)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err = a.create(gvr, k, o)
	return err
}

// Apply creates or updates an object to match o.
func (a *API) Apply(o *unstructured.Unstructured) error {
	gvr, k, err := a.kindOf(o)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at := address{gvr, o.GetNamespace(), o.GetName()}
	old := a.objects[at]
	if old == nil {
		_, err = a.create(gvr, k, o)
		return err
	}
	next := o.DeepCopy()
	next.SetResourceVersion(old.GetResourceVersion())
	next.SetFinalizers(old.GetFinalizers()) // the applied object has none of its own
	_, err = a.update(gvr, k, next, "")
	return err
}

// Edit changes an existing object. It returns false if there is none.
func (a *API) Edit(plural, namespace, name string, change func(*unstructured.Unstructured)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.find(plural, namespace, name)
	if !ok {
		return false
	}
	next := a.objects[at].DeepCopy()
	change(next)
	_, err := a.update(at.resource, a.kinds[at.resource], next, "")
	return err == nil
}

// Delete requests the deletion of an object. It returns false if there is none.
func (a *API) Delete(plural, namespace, name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.find(plural, namespace, name)
	return ok && a.remove(at, metav1.DeleteOptions{}) == nil
}

// Terminate marks an object as terminating, as a server does with pods, which disappear once their kubelet reports so.
func (a *API) Terminate(plural, namespace, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, ok := a.find(plural, namespace, name); ok {
		next := a.objects[at].DeepCopy()
		now := metav1.NewTime(time.Now().Truncate(time.Second))
		next.SetDeletionTimestamp(&now)
		a.store(at, watch.Modified, next)
	}
}

// Get is the current object, nil if there is none.
func (a *API) Get(plural, namespace, name string) *unstructured.Unstructured {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, ok := a.find(plural, namespace, name); ok {
		return a.objects[at].DeepCopy()
	}
	return nil
}

// List is every object of a resource, ordered by namespace and name.
func (a *API) List(plural string) []*unstructured.Unstructured {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*unstructured.Unstructured
	for gvr := range a.kinds {
		if gvr.Resource == plural {
			out = append(out, a.list(gvr, "")...)
		}
	}
	return out
}

// find is the address of an existing object.
func (a *API) find(plural, namespace, name string) (address, bool) {
	for gvr := range a.kinds {
		at := address{gvr, namespace, name}
		if gvr.Resource == plural && a.objects[at] != nil {
			return at, true
		}
	}
	return address{}, false
}

func (a *API) kindOf(o *unstructured.Unstructured) (schema.GroupVersionResource, kind, error) {
	for gvr, k := range a.kinds {
		if k.GroupVersionKind == o.GroupVersionKind() {
			return gvr, k, nil
		}
	}
	return schema.GroupVersionResource{}, kind{}, fmt.Errorf("no kind %s", o.GroupVersionKind())
}

// list is the response to a list request. a.mu is locked; the objects are read-only.
func (a *API) list(gvr schema.GroupVersionResource, namespace string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for at, o := range a.objects {
		if at.resource == gvr && (namespace == "" || at.namespace == namespace) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(x, y *unstructured.Unstructured) int {
		return strings.Compare(x.GetNamespace()+"/"+x.GetName(), y.GetNamespace()+"/"+y.GetName())
	})
	return out
}

// create, update and remove handle a request like a server. a.mu is locked.
func (a *API) create(gvr schema.GroupVersionResource, k kind, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	at := address{gvr, o.GetNamespace(), o.GetName()}
	if a.objects[at] != nil {
		return nil, apierrors.NewAlreadyExists(gvr.GroupResource(), at.name)
	}
	o = o.DeepCopy()
	o.SetGroupVersionKind(k.GroupVersionKind)
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", a.version+1)))
	o.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	o.SetDeletionTimestamp(nil)
	if k.custom {
		o.SetGeneration(1)
		delete(o.Object, "status")
	}
	return a.store(at, watch.Added, o), nil
}

func (a *API) update(
	gvr schema.GroupVersionResource, k kind, o *unstructured.Unstructured, subresource string,
) (*unstructured.Unstructured, error) {
	at := address{gvr, o.GetNamespace(), o.GetName()}
	old := a.objects[at]
	switch {
	case old == nil:
		return nil, apierrors.NewNotFound(gvr.GroupResource(), at.name)
	case o.GetUID() != "" && o.GetUID() != old.GetUID():
		return nil, apierrors.NewConflict(gvr.GroupResource(), at.name, fmt.Errorf("precondition failed: UID in precondition"))
	case o.GetResourceVersion() == "" && k.custom:
		return nil, apierrors.NewInvalid(k.GroupKind(), at.name, nil) // metadata.resourceVersion: must be specified
	case o.GetResourceVersion() != "" && o.GetResourceVersion() != old.GetResourceVersion():
		return nil, apierrors.NewConflict(gvr.GroupResource(), at.name, fmt.Errorf("the object has been modified"))
	}
	next := merged(k, old, o, subresource)
	if old.GetDeletionTimestamp() != nil {
		for _, f := range next.GetFinalizers() {
			if !slices.Contains(old.GetFinalizers(), f) {
				return nil, apierrors.NewForbidden(gvr.GroupResource(), at.name, fmt.Errorf("no new finalizers can be added if the object is being deleted"))
			}
		}
		if len(next.GetFinalizers()) == 0 {
			delete(a.objects, at)
			return a.notify(at, watch.Deleted, next), nil
		}
	}
	if apiequality.Semantic.DeepEqual(old.Object, next.Object) {
		return old, nil
	}
	return a.store(at, watch.Modified, next), nil
}

// merged is the result of writing o over old.
func merged(k kind, old, o *unstructured.Unstructured, subresource string) *unstructured.Unstructured {
	next := o.DeepCopy()
	if subresource == "status" {
		next = old.DeepCopy()
		copyField(next, o, "status")
	} else if k.custom {
		copyField(next, old, "status")
	}
	next.SetGroupVersionKind(k.GroupVersionKind)
	next.SetUID(old.GetUID())
	next.SetResourceVersion(old.GetResourceVersion())
	next.SetCreationTimestamp(old.GetCreationTimestamp())
	next.SetDeletionTimestamp(old.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	next.SetGeneration(old.GetGeneration())
	if k.custom && !apiequality.Semantic.DeepEqual(content(old), content(next)) {
		next.SetGeneration(old.GetGeneration() + 1)
	}
	return next
}

func copyField(to, from *unstructured.Unstructured, name string) {
	delete(to.Object, name)
	if v, ok := from.Object[name]; ok {
		to.Object[name] = (&unstructured.Unstructured{Object: map[string]any{name: v}}).DeepCopy().Object[name]
	}
}

// content is the part of an object that the generation covers.
func content(o *unstructured.Unstructured) map[string]any {
	c := maps.Clone(o.Object)
	delete(c, "metadata")
	delete(c, "status")
	return c
}

func (a *API) remove(at address, opts metav1.DeleteOptions) error {
	old := a.objects[at]
	if old == nil {
		return apierrors.NewNotFound(at.resource.GroupResource(), at.name)
	}
	if p := opts.Preconditions; p != nil && (p.UID != nil && *p.UID != old.GetUID() ||
		p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion()) {
		return apierrors.NewConflict(at.resource.GroupResource(), at.name, fmt.Errorf("precondition failed"))
	}
	if len(old.GetFinalizers()) == 0 {
		delete(a.objects, at)
		a.notify(at, watch.Deleted, old.DeepCopy())
		return nil
	}
	if old.GetDeletionTimestamp() != nil {
		return nil
	}
	next := old.DeepCopy()
	now, grace := metav1.NewTime(time.Now().Truncate(time.Second)), int64(0)
	next.SetDeletionTimestamp(&now)
	next.SetDeletionGracePeriodSeconds(&grace)
	if next.GetGeneration() > 0 {
		next.SetGeneration(next.GetGeneration() + 1) // so does a real server
	}
	a.store(at, watch.Modified, next)
	return nil
}

// store stores o and sends an event.
func (a *API) store(at address, typ watch.EventType, o *unstructured.Unstructured) *unstructured.Unstructured {
	a.notify(at, typ, o)
	a.objects[at] = o
	return o
}

// notify assigns the next version to o and sends an event to its watches.
func (a *API) notify(at address, typ watch.EventType, o *unstructured.Unstructured) *unstructured.Unstructured {
	a.version++
	o.SetResourceVersion(strconv.FormatInt(a.version, 10))
	e := event{version: a.version, of: at, typ: typ, object: o}
	a.history = append(a.history, e)
	for w := range a.watchers {
		w.offer(e)
	}
	return o
}
