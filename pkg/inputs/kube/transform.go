package kube

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// untyped returns an empty object as the dynamic client delivers those of a kind.
func untyped(r *source.Resource) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.Version.WithKind(r.Kind))
	return u
}

// transform converts what the API delivers to what is kept: an object of its type, trimmed, or its compact form.
//
// An object that does not fit its type is a problem until it does, or is gone. Its last known version stays; if there is
// none, only its name is kept, which Get treats as no object. An error here would prevent the whole kind from being listed.
func (k *Source) transform(r *kindMirror) func(any) (any, error) {
	return func(o any) (any, error) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			typed, err := typedOf(&r.Resource, u)
			if err != nil {
				k.unreadable(r, r.Ref(u), err)
				return r.lastKnown(u), nil
			}
			k.readable(r.Ref(u))
			o = typed
		}
		if t, ok := o.(source.Object); ok {
			trim(&r.Resource, t, k.gate)
			return k.compactor.compact(t), nil
		}
		return o, nil
	}
}

// trim drops what netloom does not use of an object. Of a pod it keeps the readiness gate of that name, "" for none.
func trim(r *source.Resource, o source.Object, gate corev1.PodConditionType) {
	pod, _ := o.(*corev1.Pod)
	if pod == nil {
		r.Trim(o)
		return
	}
	status, gated := source.Gate(pod, gate)
	r.Trim(o)
	if gated {
		source.SetGate(pod, gate, status)
	}
}

// typedOf returns an object in its type. Fields that the type does not have are ignored: a newer definition may have more.
func typedOf(r *source.Resource, u *unstructured.Unstructured) (source.Object, error) {
	o := r.New()
	return o, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
}

// lastKnown returns the object as it was before, or its name.
func (r *kindMirror) lastKnown(u *unstructured.Unstructured) any {
	if was, ok, err := r.GetByKey(r.Ref(u).NamespacedName()); err == nil && ok {
		if o, ok := was.(source.Object); ok {
			kept, ok := o.DeepCopyObject().(source.Object) // what is stored is shared
			if ok {
				kept.SetUID(u.GetUID())
				kept.SetResourceVersion(u.GetResourceVersion())
				return kept
			}
		}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}}
}

// unreadable records that an object does not fit its type.
func (k *Source) unreadable(r *kindMirror, ref object.Ref, err error) {
	p := object.Problem{Place: object.Place{Path: r.String()}, Ref: ref, Message: err.Error()}
	k.mu.Lock()
	isNew := k.problems.Set(ref, []object.Problem{p})
	k.mu.Unlock()
	if isNew {
		k.Ring()
	}
}

// readable undoes unreadable.
func (k *Source) readable(ref object.Ref) {
	k.mu.Lock()
	was := k.problems.Set(ref, nil)
	k.mu.Unlock()
	if was {
		k.Ring()
	}
}
