package watch

import (
	"context"
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

// apiObject is what every delivered object can do.
type apiObject interface {
	runtime.Object
	metav1.Object
}

// resource says all there is to know about one kind: a new kind is a new row in resources.
type resource struct {
	kind       Kind
	version    schema.GroupVersion
	plural     string // as in an RBAC rule: resource, or resource.group
	namespaced bool
	sdwan      bool // it is read through the dynamic client
	empty      func() apiObject
	complete   func(apiObject)                       // fills in what the API server would
	judge      func(json.RawMessage) field.ErrorList // holds what is written against a schema; nil where there is none
	validate   func(apiObject) field.ErrorList       // judges a completed object as the API server would
	trim       func(apiObject)                       // drops what netloom does not look at
	listWatch  func(clients) *cache.ListWatch        // nil for what is read from directories only
}

// clients are how an API is asked.
type clients struct {
	kubernetes.Interface
	sdwan dynamic.Interface // nil to read no SD-WAN kinds
}

// resources lists the kinds that sources deliver, and Endpoints, which they deliver as slices.
func resources() []resource { return append(coreResources(), sdwanResources()...) }

func coreResources() []resource {
	return []resource{
		{
			kind: KindNetworkPolicy, version: networkingv1.SchemeGroupVersion,
			plural: "networkpolicies.networking.k8s.io", namespaced: true,
			empty:    func() apiObject { return &networkingv1.NetworkPolicy{} },
			complete: typed(completePolicy), validate: judged(validatePolicy), trim: typed(trimPolicy),
			listWatch: func(c clients) *cache.ListWatch {
				return access(c.NetworkingV1().NetworkPolicies(metav1.NamespaceAll))
			},
		},
		{
			kind: KindPod, version: corev1.SchemeGroupVersion, plural: "pods", namespaced: true,
			empty:    func() apiObject { return &corev1.Pod{} },
			complete: typed(completePod), validate: judged(validatePod), trim: typed(trimPod),
			listWatch: func(c clients) *cache.ListWatch {
				return access(c.CoreV1().Pods(metav1.NamespaceAll))
			},
		},
		{
			kind: KindNamespace, version: corev1.SchemeGroupVersion, plural: "namespaces",
			empty:    func() apiObject { return &corev1.Namespace{} },
			complete: typed(completeNamespace), validate: judged(validateNamespace), trim: typed(trimNamespace),
			listWatch: func(c clients) *cache.ListWatch { return access(c.CoreV1().Namespaces()) },
		},
		{
			kind: KindNode, version: corev1.SchemeGroupVersion, plural: "nodes",
			empty:    func() apiObject { return &corev1.Node{} },
			complete: func(apiObject) {}, validate: judged(validateNode), trim: typed(trimNode),
			listWatch: func(c clients) *cache.ListWatch { return access(c.CoreV1().Nodes()) },
		},
		{
			kind: KindService, version: corev1.SchemeGroupVersion, plural: "services", namespaced: true,
			empty:    func() apiObject { return &corev1.Service{} },
			complete: typed(completeService), validate: judged(validateService), trim: typed(trimService),
			listWatch: func(c clients) *cache.ListWatch {
				return access(c.CoreV1().Services(metav1.NamespaceAll))
			},
		},
		{
			kind: KindEndpointSlice, version: discoveryv1.SchemeGroupVersion,
			plural: "endpointslices.discovery.k8s.io", namespaced: true,
			empty:    func() apiObject { return &discoveryv1.EndpointSlice{} },
			complete: typed(completeSlice), validate: judged(validateSlice), trim: typed(trimSlice),
			listWatch: func(c clients) *cache.ListWatch {
				return access(c.DiscoveryV1().EndpointSlices(metav1.NamespaceAll))
			},
		},
		endpointsResource(),
	}
}

// resourceOf finds the row of a kind that manifests may have.
func resourceOf(kind Kind) (resource, bool) {
	for _, r := range coreResources() {
		if r.kind == kind {
			return r, true
		}
	}
	if kind == kindSecret {
		return secretResource(), true
	}
	for _, r := range v1alpha1.Resources() {
		if r.Kind == kind {
			return sdwanResource(r), true
		}
	}
	return resource{}, false
}

// ref names o, an object of kind r.
func (r *resource) ref(o metav1.Object) object.Ref {
	return object.Ref{Kind: r.kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// typed turns a function of one type into one of any object, which leaves other types alone.
func typed[T apiObject](f func(T)) func(apiObject) {
	return func(o apiObject) {
		if t, ok := o.(T); ok {
			f(t)
		}
	}
}

func judged[T apiObject](f func(T) field.ErrorList) func(apiObject) field.ErrorList {
	return func(o apiObject) field.ErrorList {
		t, ok := o.(T)
		if !ok {
			return nil
		}
		return f(t)
	}
}

// lister is what the typed clients of all kinds have in common.
type lister[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error)
}

func access[L runtime.Object](c lister[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return c.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
			return c.Watch(ctx, opts)
		},
	}
}

// same says whether two trimmed objects differ in nothing but their resource version and generation.
func same(a, b apiObject) bool {
	if a == b {
		return true
	}
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	if a.GetResourceVersion() != b.GetResourceVersion() || a.GetGeneration() != b.GetGeneration() {
		// The objects are shared: blank a copy's. Trimmed objects are small.
		c, ok := b.DeepCopyObject().(apiObject)
		if !ok {
			return false
		}
		c.SetResourceVersion(a.GetResourceVersion())
		c.SetGeneration(a.GetGeneration())
		b = c
	}
	return reflect.DeepEqual(a, b)
}
