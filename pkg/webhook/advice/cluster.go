package advice

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// NewClusterPolicy returns an empty policy of a cluster-wide kind; nil for any other kind.
func NewClusterPolicy(kind string) metav1.Object {
	switch kind {
	case object.KindClusterNetworkPolicy:
		return &policyv1alpha2.ClusterNetworkPolicy{}
	case object.KindAdminNetworkPolicy:
		return &policyv1alpha1.AdminNetworkPolicy{}
	case object.KindBaselineAdminNetworkPolicy:
		return &policyv1alpha1.BaselineAdminNetworkPolicy{}
	default:
		return nil
	}
}

// AdviseCluster lists what the author of a cluster-wide policy may not have meant. It keeps nothing of the policy. It knows no
// nodes and looks up no names, so it says nothing about peers of these kinds.
func (a *Adviser) AdviseCluster(kind string, o metav1.Object) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() {
		a.t.Remove(kind, "", o.GetName())
		a.t.Snapshot()
	}()
	policies, problems, s := a.translate(kind, o)
	var out []string
	for _, p := range problems {
		if !strings.HasSuffix(p.Field, ".domainNames") {
			out = append(out, p.Field+": "+p.Message)
		}
	}
	if len(policies) > 0 && s.Set(policies[0].Subject).Len() == 0 {
		out = append(out, "spec.subject: selects no pod at present")
	}
	nodes := withNodes(o)
	empty := slices.DeleteFunc(peers(policies, s), func(line string) bool {
		return slices.ContainsFunc(nodes, func(path string) bool { return strings.HasPrefix(line, path+".to:") })
	})
	return atMost(append(append(out, empty...), a.cost(policies, s)...))
}

// withNodes lists the paths of the rules whose peers are nodes.
func withNodes(o metav1.Object) []string {
	var out []string
	add := func(rule int, given bool) {
		if given {
			out = append(out, fmt.Sprintf("spec.%s[%d]", intent.Egress, rule))
		}
	}
	switch o := o.(type) {
	case *policyv1alpha2.ClusterNetworkPolicy:
		for i, r := range o.Spec.Egress {
			add(i, slices.ContainsFunc(r.To, func(p policyv1alpha2.ClusterNetworkPolicyEgressPeer) bool { return p.Nodes != nil }))
		}
	case *policyv1alpha1.AdminNetworkPolicy:
		for i, r := range o.Spec.Egress {
			add(i, slices.ContainsFunc(r.To, func(p policyv1alpha1.AdminNetworkPolicyEgressPeer) bool { return p.Nodes != nil }))
		}
	case *policyv1alpha1.BaselineAdminNetworkPolicy:
		for i, r := range o.Spec.Egress {
			add(i, slices.ContainsFunc(r.To, func(p policyv1alpha1.BaselineAdminNetworkPolicyEgressPeer) bool { return p.Nodes != nil }))
		}
	}
	return out
}
