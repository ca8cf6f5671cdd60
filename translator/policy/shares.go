package policy

import (
	"cmp"
	"errors"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/owner"
)

// maxValuesBeyond is how many values the podSelector of a policy beyond the budget of its namespace may compare with. There may be any
// number of such policies.
const maxValuesBeyond = 64

// compareAge orders policies and nodes by age, so that those that do not fit the budget are not translated first.
func (t *Table) compareAge(a, b object.Ref) int {
	return cmp.Or(owner.CompareAge(t.created(a), t.created(b)), a.Compare(b))
}

func (t *Table) created(ref object.Ref) metav1.Time {
	if o := t.objects[ref]; o != nil {
		return o.GetCreationTimestamp()
	}
	return metav1.Time{}
}

func (p *translation) ref() object.Ref {
	return object.Ref{Kind: p.Of.Kind, Namespace: p.Of.Namespace, Name: p.Of.Name}
}

// prefixesOfExcept is about how many prefixes are left for each except of an ipBlock.
const prefixesOfExcept = 24

// Estimate returns the approximate cost of a NetworkPolicy, from its size alone. One that exceeds its budget costs little.
func (t *Table) Estimate(np *networkingv1.NetworkPolicy) int64 {
	ref := object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}
	if !t.ledger.Fits(ref, np.CreationTimestamp) {
		return budget.Estimate(budget.Prefixes, 0)
	}
	prefixes, selectors, rules := 0, 0, 0
	for _, d := range intent.Directions() {
		for _, r := range rulesOf(np, d) {
			rules += 1 + len(r.ports)
			for i := range r.peers {
				if b := r.peers[i].IPBlock; b != nil {
					prefixes += 1 + prefixesOfExcept*len(b.Except)
				} else {
					selectors++
				}
			}
		}
	}
	return budget.Estimate(budget.Prefixes, prefixes) + budget.Estimate(budget.Selectors, selectors) + budget.Estimate(budget.Rules, rules)
}

// charge charges the policy to its namespace. It returns an error if the policy exceeds its own budget or that of the namespace.
func (p *translation) charge() error {
	if p.standing != budget.Beyond {
		terms := p.terms()
		p.measure()
		p.standing = p.ledger.Set(p.ref(), p.account.Cost(), terms)
	}
	if err := p.account.Err(); err != nil {
		return err
	}
	if p.standing != budget.Within {
		return errors.New(p.beyond())
	}
	return nil
}

// terms lists the IDs of the terms that the policy selects endpoints by, some repeatedly. Those of rules that are divided later are
// measured.
func (p *translation) terms() []string {
	list := p.sets.Terms(&p.out.refs, &p.ruleRefs)
	for i := range p.out.divisible {
		if all := p.out.divisible[i].all; all != nil {
			for _, term := range all.Terms {
				if !p.ledger.Knows(term.ID()) {
					p.sets.Measure(term)
				}
			}
			list = append(list, all.Terms...)
		}
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID()
	}
	return ids
}

// beyond reports that the policy does not fit the budget of its namespace.
func (p *translation) beyond() string {
	if p.Of.Namespace == "" {
		return "the cluster-wide policies exceed their budget, and this is one of the newest"
	}
	return fmt.Sprintf("the policies of namespace %s exceed their budget, and this is one of the newest", p.Of.Namespace)
}

// measure tells the ledger how many endpoints the terms match that have been added.
func (t *Table) measure() {
	for _, m := range t.sets.Matches() {
		t.ledger.Resize(m.Term, m.Endpoints)
	}
}

// Balance applies the budgets of namespaces to what the policies select now. Policies that no longer fit, and those that now fit, are
// translated again.
func (t *Table) Balance() {
	t.measure()
	t.ledger.Settle()
}

// ReportBudgets reports the namespaces whose policies exceed their budget.
func (t *Table) ReportBudgets() {
	t.ledger.Report(t.problems, t.source.Cluster, "policies", "policies")
}
