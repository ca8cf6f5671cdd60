package policy

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/host"
	"github.com/netloom/netloom/translator/sets"
)

// translator is what translations read besides the object itself, and where they retain sets.
type translator struct {
	source  field.Source
	objects *objects
	budgets *budgets
	sets    *sets.Table
	hosts   *host.Table
	early   early
}

// translation is one policy of any kind being translated to intents.
type translation struct {
	*translator
	field.Faults

	subject       labelcache.Selection
	subjectValues int // number of values that it compares with
	out           result
	account       *budget.Account
	standing      budget.Standing // in the budget of the namespace
	undeclared    []intent.UndeclaredPort
	ruleRefs      sets.Refs // the sets of rules; not the subject, and none that is retained only for its numbers
}

// begin begins to translate a policy.
func (t *translator) begin(kind string, o metav1.Object) translation {
	p := translation{translator: t, Faults: field.Faults{Of: t.source.Origin(kind, o)}}
	p.account, p.standing = t.budgets.open(p.ref(), o.GetCreationTimestamp())
	if object.IsPolicy(kind) {
		checkEnforcement(o.GetAnnotations(), "the policy is", &p.Faults)
	}
	return p
}

func (p *translation) ref() object.Ref {
	return object.Ref{Kind: p.Of.Kind, Namespace: p.Of.Namespace, Name: p.Of.Name}
}

// selector parses a label selector. One whose values are beyond the budget is an error.
func (p *translation) selector(ls *metav1.LabelSelector) (labels.Selector, error) {
	if !p.account.Spend(budget.Values, valuesIn(ls)) {
		return nil, p.account.Err()
	}
	return metav1.LabelSelectorAsSelector(ls)
}

// valuesIn counts the values that a selector compares labels with. Nil has none.
func valuesIn(ls *metav1.LabelSelector) int {
	if ls == nil {
		return 0
	}
	n := len(ls.MatchLabels)
	for i := range ls.MatchExpressions {
		n += 1 + len(ls.MatchExpressions[i].Values)
	}
	return n
}

// peer returns the peer for spec; nil is any.
func (p *translation) peer(spec *sets.Spec) intent.Peer {
	switch {
	case spec == nil:
		return intent.Peer{Kind: intent.PeerAny}
	case spec.Empty():
		return intent.Peer{}
	default:
		return intent.Peer{Kind: intent.PeerSet, Set: p.retain(*spec)}
	}
}

func (p *translation) retain(spec sets.Spec) intent.SetID { return p.sets.Retain(&p.ruleRefs, spec) }

// charge charges the policy to its namespace. It returns an error if the policy exceeds its own budget or that of the namespace.
func (p *translation) charge() error {
	if p.standing != budget.Beyond {
		terms := p.terms()
		p.standing = p.budgets.charge(p.ref(), p.account.Cost(), terms)
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
				if !p.budgets.ledger.Knows(term.ID()) {
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

// dropRules drops all rules. The numbers of named ports are still watched: with fewer of them the policy may fit its budget again. So is
// what the rules select if the policy is the next that would fit the budget of the namespace.
func (p *translation) dropRules() {
	for _, policy := range p.out.policies {
		policy.Rules, policy.Undeclared = nil, nil
	}
	if p.standing == budget.Next {
		for i := range p.out.divisible {
			if all := p.out.divisible[i].all; all != nil {
				p.sets.Retain(&p.ruleRefs, *all)
			}
		}
		p.out.held.Join(&p.ruleRefs)
	}
	p.out.divisible = nil
	p.sets.Drop(&p.ruleRefs)
}
