package world

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/object"
)

// Promotion is what puts staged policies in force.
type Promotion struct {
	Staged []Staged         // all that are staged, sorted by name
	Put    []runtime.Object // copies of them that are enforced, in the same order; none of those that another one replaces
	// Removed are the policies that they replace, each once.
	Removed []object.Ref
}

// Promote finds the staged policies among the objects of a cluster, and what would put all of them in force. A policy that names the one
// that it is to replace takes its place; one that names itself, or one that is to replace another itself, is added.
func Promote(objects iter.Seq[runtime.Object]) Promotion {
	namespaces := map[string]map[string]string{}
	policies := map[object.Ref]metav1.Object{}
	for o := range objects {
		if ns, ok := o.(*corev1.Namespace); ok {
			namespaces[ns.Name] = ns.Annotations
		} else if ref, ok := PolicyRef(o); ok {
			policies[ref] = o.(metav1.Object) //nolint:forcetypeassert // every policy is one
		}
	}
	var out Promotion
	for ref, p := range policies {
		if object.IsStaged(p.GetAnnotations(), namespaces[ref.Namespace]) {
			out.Staged = append(out.Staged, Staged{Policy: ref, Replaces: replacedBy(ref, policies)})
		}
	}
	slices.SortFunc(out.Staged, func(a, b Staged) int { return a.Policy.Compare(b.Policy) })
	for _, s := range out.Staged {
		if _, exists := policies[s.Replaces]; exists && !slices.Contains(out.Removed, s.Replaces) {
			out.Removed = append(out.Removed, s.Replaces)
		}
	}
	for _, s := range out.Staged {
		if !slices.Contains(out.Removed, s.Policy) {
			out.Put = append(out.Put, enforced(policies[s.Policy]))
		}
	}
	return out
}

// replacedBy is the policy that a staged one is to replace; zero for none.
func replacedBy(staged object.Ref, policies map[object.Ref]metav1.Object) object.Ref {
	of := object.Ref{Kind: staged.Kind, Namespace: staged.Namespace, Name: policies[staged].GetAnnotations()[object.StagesAnnotation]}
	if of.Name == "" || of == staged {
		return object.Ref{}
	}
	if other := policies[of]; other != nil && other.GetAnnotations()[object.StagesAnnotation] != "" {
		return object.Ref{}
	}
	return of
}

// enforced returns a copy of a policy that is enforced.
func enforced(policy metav1.Object) runtime.Object {
	out := policy.(runtime.Object).DeepCopyObject() //nolint:forcetypeassert // every policy is one
	copied := out.(metav1.Object)                   //nolint:forcetypeassert // likewise
	annotations := copied.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[object.EnforcementAnnotation] = object.EnforcementEnforced
	copied.SetAnnotations(annotations)
	return out
}

// PolicyRef names a policy that can be staged; false for any other object.
func PolicyRef(o runtime.Object) (object.Ref, bool) {
	switch p := o.(type) {
	case *networkingv1.NetworkPolicy:
		return object.Ref{Kind: object.KindNetworkPolicy, Namespace: p.Namespace, Name: p.Name}, true
	case *v1alpha2.ClusterNetworkPolicy:
		return object.Ref{Kind: object.KindClusterNetworkPolicy, Name: p.Name}, true
	case *v1alpha1.AdminNetworkPolicy:
		return object.Ref{Kind: object.KindAdminNetworkPolicy, Name: p.Name}, true
	case *v1alpha1.BaselineAdminNetworkPolicy:
		return object.Ref{Kind: object.KindBaselineAdminNetworkPolicy, Name: p.Name}, true
	default:
		return object.Ref{}, false
	}
}

// StagedAs reports whether a policy of the state is staged, and what it is to replace.
func (s *State) StagedAs(policy object.Ref) (Staged, bool) {
	i, ok := slices.BinarySearchFunc(s.Staged, policy, func(one Staged, ref object.Ref) int { return one.Policy.Compare(ref) })
	if !ok {
		return Staged{}, false
	}
	return s.Staged[i], true
}

// Text describes a policy that is staged in one line.
func (s Staged) Text() string {
	text := "staged: it neither denies nor allows anything"
	if s.Replaces != (object.Ref{}) {
		text += "; it is to replace " + s.Replaces.Path()
	}
	return text
}

// WouldBe is the world if the staged policies of all clusters were in force; nil if there are none. It is made once, for the first question.
func (w *World) WouldBe() *World {
	would := w.Home().wouldBe()
	if would == nil {
		return nil
	}
	return would.set.members[w.State.Cluster]
}
