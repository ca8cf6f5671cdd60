package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/object"
)

// untyped is an object as the dynamic client delivers those of a kind.
func untyped(r *resource) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.version.WithKind(r.kind))
	return u
}

// transform makes of what the API delivers what is kept: an object of its type, trimmed.
//
// An object that does not go into its type is a problem until it does, or is gone. What was known of it stays; when
// nothing was, its name alone is kept, which Get takes for no object. An error here would keep the whole kind from being
// listed.
func (k *Kubernetes) transform(r *informed) func(any) (any, error) {
	return func(o any) (any, error) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			typed, err := typedOf(&r.resource, u)
			if err != nil {
				k.unreadable(r, r.ref(u), err)
				return r.lastKnown(u), nil
			}
			k.readable(r.ref(u))
			o = typed
		}
		if t, ok := o.(apiObject); ok {
			r.trim(t)
		}
		return o, nil
	}
}

// typedOf is an object in its type. Fields that the type does not have are passed over: a newer definition may have more.
func typedOf(r *resource, u *unstructured.Unstructured) (apiObject, error) {
	o := r.empty()
	return o, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
}

// lastKnown is the object as it was before, or its name.
func (r *informed) lastKnown(u *unstructured.Unstructured) any {
	if was, ok, err := r.informer.GetStore().GetByKey(r.ref(u).NamespacedName()); err == nil && ok {
		if o, ok := was.(apiObject); ok {
			return o.DeepCopyObject() // what is stored is shared
		}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}}
}

// unreadable notes that an object does not go into its type.
func (k *Kubernetes) unreadable(r *informed, ref object.Ref, err error) {
	p := object.Problem{Place: object.Place{Path: r.plural}, Ref: ref, Message: err.Error()}
	k.mu.Lock()
	news := k.garbled[ref] != p
	k.garbled[ref] = p
	k.mu.Unlock()
	if news {
		k.ring()
	}
}

// readable takes that back.
func (k *Kubernetes) readable(ref object.Ref) {
	k.mu.Lock()
	_, was := k.garbled[ref]
	delete(k.garbled, ref)
	k.mu.Unlock()
	if was {
		k.ring()
	}
}
