package watch

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// mayWithhold says whether the rest can do without a kind. Without policies, pods, namespaces and nodes nothing that is
// known means what it seems to.
func (r *resource) mayWithhold() bool {
	return r.sdwan || r.kind == KindService || r.kind == KindEndpointSlice || r.kind == kindEndpoints
}

// refuse takes down that the API will not list a resource, for want of a right or of a definition. An API that does not
// answer refuses nothing. The caller holds the lock.
func (k *Kubernetes) refuse(r *resource, err error) {
	informed := k.resources[r.kind]
	if !r.mayWithhold() || informed.handler.HasSynced() || !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		return
	}
	k.refused[r.kind] = true
}

// isWithheld says whether a kind is withheld. The caller holds the lock.
func (k *Kubernetes) isWithheld(kind Kind) bool {
	r, ok := k.resources[kind]
	return ok && k.refused[kind] && kind != k.unused && !r.handler.HasSynced()
}

// withholds says whether a kind is withheld, or one of two of which it cannot be told which is to be read.
func (k *Kubernetes) withholds(kind Kind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kind == kindEndpoints && !k.chosen && k.isWithheld(KindEndpointSlice) {
		return true
	}
	return k.isWithheld(kind)
}

// Withheld lists the kinds that the API has refused since the start.
func (k *Kubernetes) Withheld() []Kind {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Kind
	for kind := range k.refused {
		if !k.isWithheld(kind) {
			continue
		}
		if kind == kindEndpoints {
			kind = KindEndpointSlice
		}
		all = append(all, kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
