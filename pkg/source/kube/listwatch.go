package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/source"
)

// clients are how an API is asked.
type clients struct {
	kubernetes.Interface
	sdwan dynamic.Interface // nil to read no SD-WAN kinds
}

// listWatch lists and watches the objects of one kind in all namespaces.
func (c clients) listWatch(r *source.Resource) *cache.ListWatch {
	switch r.Kind {
	case source.KindNetworkPolicy:
		return listWatch(c.NetworkingV1().NetworkPolicies(metav1.NamespaceAll))
	case source.KindPod:
		return listWatch(c.CoreV1().Pods(metav1.NamespaceAll))
	case source.KindNamespace:
		return listWatch(c.CoreV1().Namespaces())
	case source.KindNode:
		return listWatch(c.CoreV1().Nodes())
	case source.KindService:
		return listWatch(c.CoreV1().Services(metav1.NamespaceAll))
	case source.KindEndpointSlice:
		return listWatch(c.DiscoveryV1().EndpointSlices(metav1.NamespaceAll))
	case source.KindEndpoints:
		return listWatch(c.CoreV1().Endpoints(metav1.NamespaceAll))
	default:
		return listWatch(c.sdwan.Resource(r.GroupVersionResource()).Namespace(metav1.NamespaceAll))
	}
}

// lister is what the clients of all kinds have in common.
type lister[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error)
}

func listWatch[L runtime.Object](c lister[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return c.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
			return c.Watch(ctx, opts)
		},
	}
}
