package draft

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

// Edit is a change of the policies of a cluster. The zero value changes nothing.
type Edit struct {
	// Put are policies that replace those of the same kind and name, or are added.
	Put []runtime.Object
	// Removed are policies that no longer exist.
	Removed []object.Ref
	// Problems are what Parse found wrong in a text.
	Problems []object.Problem

	text   []byte // that was parsed
	places map[object.Ref]object.Place
}

// refs are the policies that an edit is about.
func (e *Edit) refs() (map[object.Ref]bool, error) {
	refs := map[object.Ref]bool{}
	for _, p := range e.Put {
		ref, ok := RefOf(p)
		if !ok {
			return nil, fmt.Errorf("%T is not a policy", p)
		}
		refs[ref] = true
	}
	for _, ref := range e.Removed {
		refs[ref] = true
	}
	return refs, nil
}

// RefOf names a policy; false for an object of another kind.
func RefOf(o runtime.Object) (object.Ref, bool) {
	var kind string
	switch o.(type) {
	case *networkingv1.NetworkPolicy:
		kind = object.KindNetworkPolicy
	case *v1alpha2.ClusterNetworkPolicy:
		kind = object.KindClusterNetworkPolicy
	case *v1alpha1.AdminNetworkPolicy:
		kind = object.KindAdminNetworkPolicy
	case *v1alpha1.BaselineAdminNetworkPolicy:
		kind = object.KindBaselineAdminNetworkPolicy
	default:
		return object.Ref{}, false
	}
	named := o.(metav1.Object) //nolint:forcetypeassert // each of these kinds is one
	return object.Ref{Kind: kind, Namespace: named.GetNamespace(), Name: named.GetName()}, true
}

// Make returns the state with an edit. World are the pods, namespaces and nodes of the state, and opts how it was translated.
// Problems of the state that are about the edited policies are those of the edit; where the text of a policy cannot be
// understood, the policy allows nothing.
func Make(state world.State, world []runtime.Object, edit Edit, opts translator.Options) (world.State, error) {
	edited, err := edit.refs()
	if err != nil {
		return state, err
	}
	opts.OnTag, opts.PartsOnly = nil, false // see replaced
	t := translator.New(opts)
	for _, o := range slices.Concat(world, edit.Put) {
		if err := t.Put(o); err != nil {
			return state, fmt.Errorf("translate the policies: %w", err)
		}
	}
	state.Snapshot = replaced(state.Snapshot, t.Snapshot(), edited)
	state.Objects.Policies = slices.DeleteFunc(slices.Clone(state.Objects.Policies), func(p *networkingv1.NetworkPolicy) bool {
		return edited[object.Ref{Kind: object.KindNetworkPolicy, Namespace: p.Namespace, Name: p.Name}]
	})
	state.Objects.Cluster = slices.DeleteFunc(slices.Clone(state.Objects.Cluster), func(ref object.Ref) bool { return edited[ref] })
	for _, p := range edit.Put {
		state.Objects.Add(p)
	}
	state.Problems = slices.DeleteFunc(slices.Clone(state.Problems), func(p object.Problem) bool { return edited[p.Ref] })
	var found []object.Problem
	for _, p := range t.Problems() {
		if edited[p.Ref] {
			p.Place = edit.places[p.Ref]
			found = append(found, p)
		}
	}
	found = shortened(found)
	locate(found, edit.text)
	state.Problems = slices.Concat(state.Problems, edit.Problems, found)
	slices.SortFunc(state.Problems, object.Problem.Compare)
	return state, nil
}

// replaced is a variant of a snapshot that has the policies of another in place of those that were edited. Sets that both have are
// those of the first, which may know more: pods of other clusters, and addresses of domain names. The other has whole rules only.
func replaced(of, by *intent.Snapshot, edited map[object.Ref]bool) *intent.Snapshot {
	next := of.Variant()
	for p := range of.Policies() {
		if edited[p.Origin.Ref()] {
			next.DropPolicy(p.ID)
		}
	}
	used := map[intent.SetID]bool{}
	for p := range by.Policies() {
		firstDenies := p.Origin.Kind == object.KindNode && of.Policy(p.ID) == nil // so nodes need access to their own pods
		if !edited[p.Origin.Ref()] && !firstDenies {
			continue
		}
		p = p.Whole()
		next.PutPolicy(p)
		used[p.Subject] = true
		for i := range p.Rules {
			used[p.Rules[i].Subject], used[p.Rules[i].Peer.Set] = true, true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if set := by.Set(id); set != nil && of.Set(id) == nil {
			next.CreateSet(set)
		}
	}
	return next.Commit()
}

// APIVersion is the version that a kind of policy is read in; "" for another kind.
func APIVersion(kind string) string {
	switch kind {
	case object.KindNetworkPolicy:
		return networkingv1.SchemeGroupVersion.String()
	case object.KindClusterNetworkPolicy:
		return v1alpha2.GroupVersion.String()
	case object.KindAdminNetworkPolicy, object.KindBaselineAdminNetworkPolicy:
		return v1alpha1.GroupVersion.String()
	default:
		return ""
	}
}
