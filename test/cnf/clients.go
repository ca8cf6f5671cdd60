package cnf

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// kinds are those of the server.
func kinds() map[schema.GroupVersionResource]kind {
	out := map[schema.GroupVersionResource]kind{}
	for plural, gvk := range map[string]schema.GroupVersionKind{
		"pods":            corev1.SchemeGroupVersion.WithKind("Pod"),
		"namespaces":      corev1.SchemeGroupVersion.WithKind("Namespace"),
		"nodes":           corev1.SchemeGroupVersion.WithKind("Node"),
		"services":        corev1.SchemeGroupVersion.WithKind("Service"),
		"endpoints":       corev1.SchemeGroupVersion.WithKind("Endpoints"),
		"secrets":         corev1.SchemeGroupVersion.WithKind("Secret"),
		"events":          corev1.SchemeGroupVersion.WithKind("Event"),
		"endpointslices":  discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
		"networkpolicies": networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	} {
		out[gvk.GroupVersion().WithResource(plural)] = kind{GroupVersionKind: gvk}
	}
	for _, r := range v1alpha1.Resources() {
		out[v1alpha1.GroupVersion.WithResource(r.Plural)] = kind{GroupVersionKind: v1alpha1.GroupVersion.WithKind(r.Kind), custom: true}
	}
	return out
}

// Kubernetes is a client for the kinds of Kubernetes.
func (a *API) Kubernetes() kubernetes.Interface {
	c := &kubernetesfake.Clientset{}
	c.AddReactor("*", "*", a.reactor(typedView))
	c.AddWatchReactor("*", a.watchReactor(typedView))
	return c
}

// Dynamic is a client for every kind.
func (a *API) Dynamic() dynamic.Interface {
	lists := map[schema.GroupVersionResource]string{}
	for gvr, k := range a.kinds {
		lists[gvr] = k.Kind + "List"
	}
	c := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	c.PrependReactor("*", "*", a.reactor(plainView))
	c.PrependWatchReactor("*", a.watchReactor(plainView))
	return c
}

// view is the form in which a client gets objects.
type view bool

const (
	plainView view = false // as they are
	typedView view = true  // as Go types
)

// of is o in the view, as a private copy.
func (v view) of(o *unstructured.Unstructured) (runtime.Object, error) {
	if v == plainView {
		return o.DeepCopy(), nil
	}
	return typed(o)
}

// list is objects in the view, with the version of the whole list.
func (v view) list(gvk schema.GroupVersionKind, version string, items []*unstructured.Unstructured) (runtime.Object, error) {
	gvk.Kind += "List"
	if v == plainView {
		list := &unstructured.UnstructuredList{Object: map[string]any{}}
		list.SetGroupVersionKind(gvk)
		list.SetResourceVersion(version)
		for _, o := range items {
			list.Items = append(list.Items, *o.DeepCopy())
		}
		return list, nil
	}
	list, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	objects := make([]runtime.Object, len(items))
	for i, o := range items {
		if objects[i], err = typed(o); err != nil {
			return nil, err
		}
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(version)
	return list, meta.SetList(list, objects)
}

// typed is o as its Go type.
func typed(o *unstructured.Unstructured) (runtime.Object, error) {
	out, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out)
}

// untyped is the reverse of typed.
func untyped(o runtime.Object, k kind) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(k.GroupVersionKind)
	return u, nil
}

// reactor handles requests of clients.
func (a *API) reactor(as view) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		gvr := action.GetResource()
		k, ok := a.kinds[gvr]
		if !ok {
			return true, nil, apierrors.NewNotFound(gvr.GroupResource(), "")
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		o, err := a.answer(action, gvr, k, as)
		return true, o, err
	}
}

// answer handles an action. a.mu is locked.
func (a *API) answer(action clienttesting.Action, gvr schema.GroupVersionResource, k kind, as view) (runtime.Object, error) {
	name := gvr.Resource
	if sub := action.GetSubresource(); sub != "" {
		name += "/" + sub
	}
	a.counts[action.GetVerb()+" "+name]++
	if err := a.refuse(gvr, action.GetVerb(), ""); err != nil {
		return nil, err
	}
	var o *unstructured.Unstructured
	var err error
	switch action := action.(type) {
	case clienttesting.ListAction:
		version := strconv.FormatInt(max(a.version, 1), 10) // zero would start a watch with all objects
		return as.list(k.GroupVersionKind, version, a.list(gvr, action.GetNamespace()))
	case clienttesting.PatchAction: // before actions that look the same
		o, err = a.patch(address{gvr, action.GetNamespace(), action.GetName()}, k, action)
	case clienttesting.UpdateAction: // creations look the same
		if o, err = untyped(action.GetObject(), k); err != nil {
			return nil, err
		}
		if action.GetVerb() == "create" {
			o, err = a.create(gvr, k, o)
			break
		}
		a.outrun(address{gvr, o.GetNamespace(), o.GetName()})
		o, err = a.update(gvr, k, o, action.GetSubresource())
	case clienttesting.DeleteAction:
		return nil, a.remove(address{gvr, action.GetNamespace(), action.GetName()}, action.GetDeleteOptions())
	case clienttesting.GetAction:
		if o = a.objects[address{gvr, action.GetNamespace(), action.GetName()}]; o == nil {
			err = apierrors.NewNotFound(gvr.GroupResource(), action.GetName())
		}
	default:
		err = fmt.Errorf("%s %s is not modelled", action.GetVerb(), name)
	}
	if err != nil {
		return nil, err
	}
	return as.of(o)
}

// patch applies a patch to an object. Only JSON merge patches are modelled.
func (a *API) patch(at address, k kind, action clienttesting.PatchAction) (*unstructured.Unstructured, error) {
	if action.GetPatchType() != types.MergePatchType {
		return nil, fmt.Errorf("a patch of type %s is not modelled", action.GetPatchType())
	}
	a.outrun(at)
	old := a.objects[at]
	if old == nil {
		return nil, apierrors.NewNotFound(at.resource.GroupResource(), at.name)
	}
	var change map[string]any
	if err := json.Unmarshal(action.GetPatch(), &change); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next := &unstructured.Unstructured{Object: mergePatch(old.DeepCopy().Object, change)}
	return a.update(at.resource, k, next, action.GetSubresource())
}

// mergePatch is RFC 7386.
func mergePatch(target, change map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for name, v := range change {
		switch v := v.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			inner, _ := target[name].(map[string]any)
			target[name] = mergePatch(inner, v)
		case float64:
			target[name] = int64(v)
		default:
			target[name] = v
		}
	}
	return target
}

// watchReactor opens watches.
func (a *API) watchReactor(as view) clienttesting.WatchReactionFunc {
	return func(action clienttesting.Action) (bool, watch.Interface, error) {
		gvr := action.GetResource()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.counts["watch "+gvr.Resource]++
		if err := a.refuse(gvr, "watch", ""); err != nil {
			return true, nil, err
		}
		since := int64(0)
		if w, ok := action.(clienttesting.WatchActionImpl); ok {
			since, _ = strconv.ParseInt(w.ListOptions.ResourceVersion, 10, 64)
		}
		w, err := a.watch(gvr, action.GetNamespace(), since, as)
		return true, w, err
	}
}
