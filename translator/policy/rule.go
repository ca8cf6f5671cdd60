package policy

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/intent"
)

// rule is an ingress or egress rule: they differ only in the name of their peers' field.
type rule struct {
	path  string // such as spec.ingress[0]
	field string // "from" or "to"
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// rulesOf lists the rules of a direction.
func rulesOf(np *networkingv1.NetworkPolicy, d intent.Direction) []rule {
	var rules []rule
	if d == intent.Ingress {
		for i, r := range np.Spec.Ingress {
			rules = append(rules, rule{fmt.Sprintf("spec.ingress[%d]", i), "from", r.From, r.Ports})
		}
		return rules
	}
	for i, r := range np.Spec.Egress {
		rules = append(rules, rule{fmt.Sprintf("spec.egress[%d]", i), "to", r.To, r.Ports})
	}
	return rules
}
