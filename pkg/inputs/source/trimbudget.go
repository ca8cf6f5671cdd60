package source

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/translator/budget"
)

// trimBeyondBudget drops rules and peers of a policy that is refused whatever they are, because those before them already exceed the budget of
// one object: an empty rule takes 48 bytes of memory and 2 of the 1.5 MiB that an object may have in the API, so that 26 policies would take
// 1 GiB. What remains is refused for the same reason: the budget of one object is no setting, and every translator that reads from a source has
// the default, which test/arch checks. Each program trims what it reads itself, with its own.
func trimBeyondBudget(spec *networkingv1.NetworkPolicySpec) {
	limits := budget.Default()
	if most := limits[budget.Rules] + 1; len(spec.Ingress) > most {
		spec.Ingress = slices.Clone(spec.Ingress[:most])
	}
	if most := limits[budget.Rules] + 1; len(spec.Egress) > most {
		spec.Egress = slices.Clone(spec.Egress[:most])
	}
	left := limits[budget.Selectors] + 1
	for i := range spec.Ingress {
		spec.Ingress[i].From = trimPeers(spec.Ingress[i].From, &left)
	}
	left = limits[budget.Selectors] + 1
	for i := range spec.Egress {
		spec.Egress[i].To = trimPeers(spec.Egress[i].To, &left)
	}
}

// trimPeers returns the peers of a rule up to the one with which no more selectors are left, which its direction has together. A rule after
// that keeps one peer, as none means all.
func trimPeers(peers []networkingv1.NetworkPolicyPeer, left *int) []networkingv1.NetworkPolicyPeer {
	if *left == 0 && len(peers) > 1 {
		return slices.Clone(peers[:1])
	}
	for i := range peers {
		if p := &peers[i]; *left == 0 || p.IPBlock != nil || p.PodSelector == nil && p.NamespaceSelector == nil {
			continue
		}
		if *left--; *left == 0 && i+1 < len(peers) {
			return slices.Clone(peers[:i+1])
		}
	}
	return peers
}
