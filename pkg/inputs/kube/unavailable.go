package kube

import (
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// isOptional reports whether the source syncs without a kind that the API refuses. Without policies, pods, namespaces and
// nodes, all other objects are misleading.
func isOptional(r *source.Resource) bool {
	return r.Custom || r.Kind == object.KindService || r.Kind == object.KindEndpointSlice || r.Kind == object.KindEndpoints
}

// lacks reports whether an error means that the API does not have a kind that it need not have. A client without the
// permission to list a kind is refused whether it exists or not; then discovery decides, which is open to all.
func (k *Source) lacks(r *source.Resource, err error) bool {
	switch {
	case !r.Custom || r.SDWAN:
		return false
	case apierrors.IsNotFound(err):
		return true
	case !apierrors.IsForbidden(err):
		return false
	}
	found, err := k.client.Discovery().ServerResourcesForGroupVersion(r.Version.String())
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return !slices.ContainsFunc(found.APIResources, func(f metav1.APIResource) bool { return f.Name == r.Plural })
}

// refuse records that the API does not list a resource because the permission or the definition is missing. An API that
// does not answer refuses nothing. The caller holds the lock.
func (k *Source) refuse(r *source.Resource, err error) {
	informed := k.resources[r.Kind]
	if k.mayLack(r) && !informed.hasSynced() && isRefusal(err) {
		k.refused[r.Kind] = true
	}
}

// isRefusal reports whether an error is the answer of an API that lacks the definition of a resource, or refuses permission.
func isRefusal(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// mayLack reports whether the source syncs without a kind that the API refuses: where one namespace is read, that is also one whose objects
// belong to the cluster.
func (k *Source) mayLack(r *source.Resource) bool {
	return isOptional(r) || k.namespace != "" && !r.Namespaced
}

// Refusal is the API's refusal to list a kind without which a source does not sync; nil if there is none.
func (k *Source) Refusal() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(k.failures)) {
		r := k.resources[kind]
		if r != nil && !k.mayLack(&r.Resource) && !r.hasSynced() && apierrors.IsForbidden(k.failures[kind]) {
			return k.failures[kind]
		}
	}
	return nil
}

// isUnavailable reports whether a kind has never been readable. The caller holds the lock.
func (k *Source) isUnavailable(kind string) bool {
	r, ok := k.resources[kind]
	return ok && k.refused[kind] && kind != k.unused && !r.hasSynced()
}

// waitsFor reports whether the source does not sync before a kind has been listed: it is not unavailable, and an
// unavailable kind does not leave open whether it will be read.
func (k *Source) waitsFor(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kind == object.KindEndpoints && !k.chosen && k.isUnavailable(object.KindEndpointSlice) {
		return false
	}
	return !k.isUnavailable(kind)
}

// Unlisted reports whether a kind is to be read and has not been listed since the start, so that nothing is known about which
// of its objects exist.
func (k *Source) Unlisted(kind string) bool { return k.Reads(kind) && !k.Listed(kind) }

// Unavailable lists the kinds that the API has refused since the start, except those that it does not have and need not have.
func (k *Source) Unavailable() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for kind := range k.refused {
		if !k.isUnavailable(kind) || k.absent[kind] {
			continue
		}
		if kind == object.KindEndpoints {
			kind = object.KindEndpointSlice
		}
		all = append(all, kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
