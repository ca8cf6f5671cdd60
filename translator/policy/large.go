package policy

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
)

// largeSet is how many prefixes a set has at least that is worth writing before the policy that needs it.
const largeSet = 2000

// early is the peers of rules that were parsed before their policy was put, so that no step takes twice as long. The zero value has none.
type early struct {
	lists map[*networkingv1.NetworkPolicyPeer]earlyList // by the first peer of the rule
}

// earlyList is what a list of peers is without a fault, and what it costs the policy.
type earlyList struct {
	list  peerList
	spent budget.Limits
}

// LargeSets lists the sets of many prefixes that a NetworkPolicy needs once it is put, each once and with its prefixes only. If rules are
// divided, it may need others. Nothing is retained, and nothing is charged to the namespace. It is empty for a policy that exceeds its
// budget, or that of the namespace as it is used now. What was parsed is kept until Forget.
func (t *Table) LargeSets(np *networkingv1.NetworkPolicy) []*intent.Set {
	t.Forget()
	if !t.budgets.ledger.Fits(object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}, np.CreationTimestamp) {
		return nil
	}
	p := &translation{translator: t.translator, Faults: field.Faults{Of: t.source.Origin(object.KindNetworkPolicy, np)}, account: t.budgets.limits.Open()}
	var out []*intent.Set
	lists := map[*networkingv1.NetworkPolicyPeer]earlyList{}
	seen := map[intent.SetID]bool{}
	for _, d := range intent.Directions() {
		for _, r := range rulesOf(np, d) {
			before, faults := *p.account, len(p.List)
			peers := p.parsePeers(r)
			if p.account.Err() != nil {
				return nil
			}
			if len(peers.prefixes) < largeSet {
				continue
			}
			if len(p.List) == faults {
				lists[&r.peers[0]] = earlyList{peers, p.account.Spent(before)}
			}
			if id := peers.all.ID(); !seen[id] {
				seen[id] = true
				out = append(out, &intent.Set{ID: id, Prefixes: peers.prefixes, Title: peers.all.Title()})
			}
		}
	}
	t.early.lists = lists
	return out
}

// Forget drops what was parsed before its policy was put.
func (t *Table) Forget() { t.early = early{} }
