package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// clients are the clients of an API.
type clients struct {
	kubernetes.Interface
	sdwan    dynamic.Interface // nil to read no SD-WAN kinds
	policies dynamic.Interface // nil to read no cluster-wide policies and ServiceImports
	metadata metadata.Interface

	namespace string // see Options
}

// of returns the client that reads a kind.
func (c clients) of(r *source.Resource) any {
	switch {
	case r.Custom:
		return c.custom(r)
	case r.Metadata:
		return c.metadata
	default:
		return c.Interface
	}
}

// custom returns the client that reads a kind that a CRD defines; nil if the kind is not read.
func (c clients) custom(r *source.Resource) dynamic.Interface {
	if r.SDWAN {
		return c.sdwan
	}
	return c.policies
}

// listWatch lists and watches the objects of one kind, in one namespace or in all.
func (c clients) listWatch(r *source.Resource) *cache.ListWatch {
	if r.Metadata {
		return labeled(listWatch(c.metadata.Resource(r.GroupVersionResource())), r.Label)
	}
	switch r.Kind {
	case object.KindNetworkPolicy:
		return listWatch(c.NetworkingV1().NetworkPolicies(c.namespace))
	case object.KindPod:
		return listWatch(c.CoreV1().Pods(c.namespace))
	case object.KindNamespace:
		return listWatch(c.CoreV1().Namespaces())
	case object.KindNode:
		return listWatch(c.CoreV1().Nodes())
	case object.KindService:
		return listWatch(c.CoreV1().Services(c.namespace))
	case object.KindEndpointSlice:
		return listWatch(c.DiscoveryV1().EndpointSlices(c.namespace))
	case object.KindEndpoints:
		return listWatch(c.CoreV1().Endpoints(c.namespace))
	case "RoleBinding":
		return listWatch(c.RbacV1().RoleBindings(c.namespace))
	case "ClusterRoleBinding":
		return listWatch(c.RbacV1().ClusterRoleBindings())
	default:
		resource := c.custom(r).Resource(r.GroupVersionResource())
		if !r.Namespaced {
			return listWatch(resource)
		}
		return listWatch(resource.Namespace(c.namespace))
	}
}

// keptListWatch lists and watches the objects of one kind. A list has them as they are kept.
func (c clients) keptListWatch(r *source.Resource, transform cache.TransformFunc) *cache.ListWatch {
	lw := c.listWatch(r)
	pages := newPages(lw.ListWithContextFunc)
	lw.ListWithContextFunc = func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		return pages.all(ctx, transform)
	}
	return lw
}

// metadataList lists what is needed to compare the objects of one kind with those that are kept: their metadata, or whole objects without
// a client for metadata.
func (c clients) metadataList(r *source.Resource) cache.ListWithContextFunc {
	if c.metadata == nil || r.Metadata {
		return c.listWatch(r).ListWithContextFunc
	}
	resource := c.metadata.Resource(r.GroupVersionResource())
	if !r.Namespaced {
		return listWatch(resource).ListWithContextFunc
	}
	return listWatch(resource.Namespace(c.namespace)).ListWithContextFunc
}

// labeled restricts lw to the objects that have a label; "" does not restrict it.
func labeled(lw *cache.ListWatch, label string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = label
			return lw.ListWithContextFunc(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
			opts.LabelSelector = label
			return lw.WatchFuncWithContext(ctx, opts)
		},
	}
}

// lister is what clients of all kinds have in common.
type lister[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error)
}

func listWatch[L runtime.Object](c lister[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return c.List(askTrimmed(ctx), opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
			return c.Watch(askTrimmed(ctx), opts)
		},
	}
}
