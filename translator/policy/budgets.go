package policy

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/sets"
)

// budgets limits what policies cost: each by itself, and those of a namespace together.
type budgets struct {
	limits budget.Limits
	ledger *budget.Ledger
	sets   *sets.Table
}

// newBudgets makes budgets of which nothing is spent. Again is called for each policy that no longer fits its namespace, or fits now.
func newBudgets(limits budget.Limits, shares budget.Shares, s *sets.Table, again func(object.Ref)) *budgets {
	return &budgets{limits, budget.NewLedger(shares, s.Matching, again), s}
}

// open returns what a policy may spend, and its standing in the budget of the namespace.
func (b *budgets) open(policy object.Ref, created metav1.Time) (*budget.Account, budget.Standing) {
	return b.limits.Open(), b.ledger.Standing(policy, created)
}

// charge charges a policy to its namespace, and returns its new standing. Terms are the IDs of the terms that it selects endpoints by.
func (b *budgets) charge(policy object.Ref, cost int64, terms []string) budget.Standing {
	b.measure()
	return b.ledger.Set(policy, cost, terms)
}

// balance applies the budgets of namespaces to what the policies select now.
func (b *budgets) balance() {
	b.measure()
	b.ledger.Settle()
}

// measure tells the ledger how many endpoints the terms match that have been added.
func (b *budgets) measure() {
	for _, m := range b.sets.Matches() {
		b.ledger.Resize(m.Term, m.Endpoints)
	}
}

// prefixesOfExcept is about how many prefixes are left for each except of an ipBlock.
const prefixesOfExcept = 24

// estimate returns the approximate cost of a NetworkPolicy, from its size alone. One that exceeds its budget costs little.
func (b *budgets) estimate(np *networkingv1.NetworkPolicy) int64 {
	ref := object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}
	if !b.ledger.Fits(ref, np.CreationTimestamp) {
		return budget.Estimate(budget.Prefixes, 0)
	}
	prefixes, selectors, rules := 0, 0, 0
	for _, d := range intent.Directions() {
		for _, r := range rulesOf(np, d) {
			rules += 1 + len(r.ports)
			for i := range r.peers {
				if block := r.peers[i].IPBlock; block != nil {
					prefixes += 1 + prefixesOfExcept*len(block.Except)
				} else {
					selectors++
				}
			}
		}
	}
	return budget.Estimate(budget.Prefixes, prefixes) + budget.Estimate(budget.Selectors, selectors) + budget.Estimate(budget.Rules, rules)
}

// estimateClusterWide does so for a cluster-wide policy.
func (b *budgets) estimateClusterWide(f *clusterForm) int64 {
	if !b.ledger.Fits(object.Ref{Kind: f.kind, Namespace: f.object.GetNamespace(), Name: f.object.GetName()}, f.object.GetCreationTimestamp()) {
		return budget.Estimate(budget.Prefixes, 0)
	}
	peers, rules := 0, 0
	for _, list := range f.rules {
		for i := range list {
			rules += 1 + len(list[i].ports)
			peers += len(list[i].peers)
		}
	}
	return budget.Estimate(budget.Selectors, peers) + budget.Estimate(budget.Rules, rules)
}
