package sdwantest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/object"
)

// Apply adds an object to the API, or its next generation.
func (r *Site) Apply(o status.Object) {
	r.Helper()
	o.SetNamespace("site")
	if o.GetLabels() == nil {
		o.SetLabels(map[string]string{v1alpha1.LabelPurpose: "cnf"})
	}
	kind := status.KindOf(o)
	o.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	require.NoError(r, err)
	fresh := &unstructured.Unstructured{Object: fields}
	ref := object.Ref{Kind: kind, Namespace: "site", Name: o.GetName()}
	old, err := r.Client.Tracker().Get(resourceOf(ref), "site", o.GetName())
	r.mu.Lock()
	r.version++
	fresh.SetResourceVersion(strconv.Itoa(r.version))
	r.mu.Unlock()
	fresh.SetUID("uid-of-object")
	if err != nil {
		fresh.SetGeneration(1)
		require.NoError(r, r.Client.Tracker().Create(resourceOf(ref), fresh, "site"))
	} else {
		was, ok := old.(*unstructured.Unstructured)
		require.True(r, ok)
		fresh.SetGeneration(was.GetGeneration() + 1)
		fresh.SetFinalizers(was.GetFinalizers())
		if s, ok := was.Object["status"]; ok {
			fresh.Object["status"] = s
		}
		require.NoError(r, r.Client.Tracker().Update(resourceOf(ref), fresh, "site"))
	}
	r.deliver(ref, fresh)
}

// Remove asks the API to delete an object.
func (r *Site) Remove(kind, name string) {
	r.Helper()
	ref := object.Ref{Kind: kind, Namespace: "site", Name: name}
	o := r.Stored(ref)
	now := metav1.Now()
	o.SetDeletionTimestamp(&now)
	o.SetGeneration(o.GetGeneration() + 1)
	r.Store(ref, o)
}

func resourceOf(ref object.Ref) (gvr schema.GroupVersionResource) {
	for _, one := range v1alpha1.Resources() {
		if one.Kind == ref.Kind {
			return v1alpha1.GroupVersion.WithResource(one.Plural)
		}
	}
	return gvr
}

// Stored returns an object as the API has it.
func (r *Site) Stored(ref object.Ref) *unstructured.Unstructured {
	r.Helper()
	o, err := r.Client.Tracker().Get(resourceOf(ref), ref.Namespace, ref.Name)
	require.NoError(r, err)
	u, ok := o.(*unstructured.Unstructured)
	require.True(r, ok)
	return u.DeepCopy()
}

// Store stores an object as a server would: one that is being deleted is gone once it has no finalizers.
func (r *Site) Store(ref object.Ref, o *unstructured.Unstructured) {
	r.mu.Lock()
	r.version++
	o.SetResourceVersion(strconv.Itoa(r.version))
	r.mu.Unlock()
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		_ = r.Client.Tracker().Delete(resourceOf(ref), ref.Namespace, ref.Name)
		r.Source.PutAs(ref, nil)
		return
	}
	_ = r.Client.Tracker().Update(resourceOf(ref), o, ref.Namespace)
	r.deliver(ref, o)
}

// deliver delivers the present state of an object to the source.
func (r *Site) deliver(ref object.Ref, u *unstructured.Unstructured) {
	scheme := runtime.NewScheme()
	_ = v1alpha1.AddToScheme(scheme)
	o, _ := scheme.New(v1alpha1.GroupVersion.WithKind(ref.Kind))
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
	see := func() { r.Source.PutAs(ref, o) }
	if r.Late == 0 {
		see()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest++ // what is delivered at one moment is in order
	time.AfterFunc(r.Late+time.Duration(r.latest), see)
}

// patch applies a merge patch as the API would.
func (r *Site) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	p, _ := action.(clienttesting.PatchAction)
	ref := object.Ref{Namespace: p.GetNamespace(), Name: p.GetName()}
	for _, one := range v1alpha1.Resources() {
		if one.Plural == p.GetResource().Resource {
			ref.Kind = one.Kind
		}
	}
	r.mu.Lock()
	fails := r.fails
	r.mu.Unlock()
	if fails != nil {
		if err := fails(p); err != nil {
			return true, nil, err
		}
	}
	found, err := r.Client.Tracker().Get(p.GetResource(), ref.Namespace, ref.Name)
	if err != nil {
		return true, nil, err
	}
	was, _ := found.(*unstructured.Unstructured)
	var change map[string]any
	if err := json.Unmarshal(p.GetPatch(), &change); err != nil {
		return true, nil, err
	}
	meta, _ := change["metadata"].(map[string]any)
	if meta["resourceVersion"] != was.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(p.GetResource().GroupResource(), ref.Name, errors.New("changed"))
	}
	now := was.DeepCopy()
	merge(now.Object, change)
	r.mu.Lock()
	r.patches = append(r.patches, fmt.Sprintf("%s %s%s", ref.Kind, ref.Name, map[bool]string{true: " status"}[p.GetSubresource() != ""]))
	r.mu.Unlock()
	r.Store(ref, now)
	return true, now, nil
}

// merge merges a patch into an object.
func merge(into, patch map[string]any) {
	for k, v := range patch {
		inner, isMap := v.(map[string]any)
		old, wasMap := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isMap && wasMap:
			merge(old, inner)
		default:
			into[k] = v
		}
	}
}

// Writes lists the writes since the last call.
func (r *Site) Writes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.patches
	r.patches = nil
	return out
}

// Fail makes each write fail for which f returns an error; nil ends that.
func (r *Site) Fail(f func(clienttesting.PatchAction) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = f
}
