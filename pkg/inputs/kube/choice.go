package kube

import (
	"context"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/object"
)

// How long to wait before checking again which kinds an API serves; the pause doubles.
const (
	askAgainMin = 500 * time.Millisecond
	askAgainMax = 30 * time.Second
)

// mayChoose reports whether kind is one of the two of which only one will be used.
func (k *Source) mayChoose(kind string) bool {
	_, slices := k.resources[object.KindEndpointSlice]
	_, classic := k.resources[object.KindEndpoints]
	return slices && classic && (kind == object.KindEndpointSlice || kind == object.KindEndpoints)
}

// chooseEndpoints decides which of the two kinds the endpoints of services are read from, and retries until that is known.
// It is false if ctx ended first. The choice is final: an API that gains slices later is noticed after a restart.
func (k *Source) chooseEndpoints(ctx context.Context) bool {
	if !k.mayChoose(object.KindEndpointSlice) {
		k.choose("")
		return true
	}
	for pause := askAgainMin; ; pause = min(2*pause, askAgainMax) {
		served, err := servesSlices(ctx, k.client, k.namespace)
		if err == nil {
			unused := object.KindEndpoints
			if !served {
				unused = object.KindEndpointSlice
				k.log.Info("the API serves no EndpointSlices, Endpoints are read instead")
			}
			k.choose(unused)
			k.recovered(object.KindEndpointSlice) // from the failures to choose; it is not watched yet
			return true
		}
		if ctx.Err() == nil {
			k.failed(&k.resources[object.KindEndpointSlice].Resource, err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// choose records which kind is not read; "" if there was no choice.
func (k *Source) choose(unused string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unused, k.chosen = unused, true
}

// servesSlices reports whether the API has EndpointSlices. A client that may not list them is refused whether they exist or
// not; it then uses discovery, which is open to all.
func servesSlices(ctx context.Context, client kubernetes.Interface, namespace string) (bool, error) {
	_, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsForbidden(err) {
		_, unknown := client.Discovery().ServerResourcesForGroupVersion(discoveryv1.SchemeGroupVersion.String())
		if apierrors.IsNotFound(unknown) {
			return false, nil
		}
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// uses reports whether objects of a kind are read. It may change once, from true to false.
func (k *Source) uses(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.resources[kind]
	return ok && kind != k.unused
}

// inUse returns the resources that are read, and both of the two until the choice is made: so the source does not sync
// before.
func (k *Source) inUse() map[string]*kindMirror {
	used := make(map[string]*kindMirror, len(k.resources))
	for kind, r := range k.resources {
		if k.uses(kind) {
			used[kind] = r
		}
	}
	return used
}
