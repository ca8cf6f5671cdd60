package advice

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

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
	out = append(out, peers(policies, s)...)
	return atMost(append(out, a.cost(policies, s)...))
}
