package policy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/sets"
)

// translation is one policy of any kind being translated to intents.
type translation struct {
	*Table
	field.Faults

	subject       labelcache.Selection
	subjectValues int // number of values that it compares with
	out           result
	account       *budget.Account
	standing      budget.Standing // in the budget of the namespace
	ruleRefs      sets.Refs       // the sets of rules; not the subject, and none that is retained only for its numbers
}

func (t *Table) translation(kind string, o metav1.Object) translation {
	p := translation{Table: t, Faults: field.Faults{Of: t.source.Origin(kind, o)}, account: t.budget.Open()}
	p.standing = t.ledger.Standing(p.ref(), o.GetCreationTimestamp())
	return p
}

// rules returns one rule for all numeric ports, and one more for each number that a named port resolves to. Like is what they
// have in common.
func (p *translation) rules(d intent.Direction, like intent.Rule, peers peerList, ports portList) []intent.Rule {
	var rules []intent.Rule
	if ports.numbered() {
		like.Peer, like.Ports = p.peerOf(peers), ports.numeric
		rules = append(rules, like)
	}
	for _, name := range ports.named {
		if d == intent.Ingress {
			rules = append(rules, p.namedIngress(like, peers, name)...)
		} else {
			rules = append(rules, p.namedEgress(like, peers, name)...)
		}
	}
	return slices.DeleteFunc(rules, func(r intent.Rule) bool { return r.Peer.Kind == intent.PeerNone })
}

// peerOf returns the peer for a list of peers.
func (p *translation) peerOf(l peerList) intent.Peer {
	if l.divided && l.all != nil {
		return peerOf(l.all)
	}
	return p.peer(l.all)
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

// dropRules drops all rules. The numbers of named ports are still watched: with fewer of them the policy may fit its budget again. So is
// what the rules select if the policy is the next that would fit the budget of the namespace.
func (p *translation) dropRules() {
	for _, policy := range p.out.policies {
		policy.Rules = nil
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
