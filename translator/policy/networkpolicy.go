package policy

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/sets"
)

// translation is one NetworkPolicy being translated to intents.
type translation struct {
	*Table
	field.Faults
	np       *networkingv1.NetworkPolicy
	subject  labelcache.Selection
	out      result
	account  *budget.Account
	ruleRefs sets.Refs // the sets of rules; not the subject, and none that is retained only for its numbers
}

// rule is an ingress or egress rule: they differ only in the name of their peers' field.
type rule struct {
	path  string // such as spec.ingress[0]
	field string // "from" or "to"
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// translatePolicy turns a NetworkPolicy into one intent per direction that it isolates.
func (t *Table) translatePolicy(np *networkingv1.NetworkPolicy) (*result, []object.Problem) {
	p := &translation{
		Table: t, Faults: field.Faults{Of: t.source.Origin(object.KindNetworkPolicy, np)}, np: np, account: t.budget.Open(),
	}
	selector, err := p.selector(&np.Spec.PodSelector)
	readable := err == nil
	if !readable {
		p.Add("spec.podSelector", "%v; every pod in the namespace is isolated and nothing is allowed", err)
		selector = labels.Everything()
	}
	p.subject = labelcache.Selection{Cluster: t.source.Cluster, Namespace: np.Namespace, Pods: selector}
	subject := labelcache.NewTerm(p.subject)
	logging := p.logging()
	scope, _ := t.source.LabelledScope(np, &p.Faults)
	for _, d := range p.directions() {
		policy := &intent.Policy{
			ID: intent.NewPolicyID(p.Of, d), Origin: p.Of, Direction: d, Isolates: true, Log: logging,
			Subject: p.sets.Retain(&p.out.refs, p.sets.Subjects([]labelcache.Term{subject})), CNFs: scope,
		}
		p.sets.Gate(&p.out.refs, policy.Subject)
		if readable {
			policy.Rules = p.translateRules(d)
		}
		p.out.policies = append(p.out.policies, policy)
		p.sets.Isolate(&p.out.refs, d, subject)
	}
	if err := p.account.Err(); err != nil && readable {
		p.Add("spec", "%v; the pods that it selects are isolated and nothing is allowed", err)
		p.dropRules()
	}
	p.out.refs.Join(&p.ruleRefs)
	return &p.out, p.List
}

// translateRules translates the rules of a direction until there are none left or the budget is used up.
func (p *translation) translateRules(d intent.Direction) []intent.Rule {
	count := len(p.np.Spec.Ingress)
	if d == intent.Egress {
		count = len(p.np.Spec.Egress)
	}
	if !p.account.Spend(budget.Rules, count) {
		return nil
	}
	var rules []intent.Rule
	for _, r := range rulesOf(p.np, d) {
		rules = append(rules, p.translateRule(d, r)...)
		if p.account.Err() != nil {
			return nil
		}
	}
	return rules
}

// dropRules drops all rules. What the numbers of named ports depend on is still watched: with fewer of them the policy may
// be within its budget again.
func (p *translation) dropRules() {
	for _, policy := range p.out.policies {
		policy.Rules = nil
	}
	p.sets.Drop(&p.ruleRefs)
}

func (p *translation) retain(spec sets.Spec) intent.SetID { return p.sets.Retain(&p.ruleRefs, spec) }

// directions returns the effective policy types: if the list is empty, Ingress always and Egress if there is an egress
// rule (NetworkPolicySpec.policyTypes). An unknown type may mean either.
func (p *translation) directions() []intent.Direction {
	types := p.np.Spec.PolicyTypes
	if len(types) == 0 {
		types = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(p.np.Spec.Egress) > 0 {
			types = append(types, networkingv1.PolicyTypeEgress)
		}
	}
	var out []intent.Direction
	for i, pt := range types {
		switch pt {
		case networkingv1.PolicyTypeIngress:
			out = append(out, intent.Ingress)
		case networkingv1.PolicyTypeEgress:
			out = append(out, intent.Egress)
		default:
			p.Add(fmt.Sprintf("spec.policyTypes[%d]", i), "%q: expected Ingress or Egress; both directions are isolated", pt)
			out = append(out, intent.Ingress, intent.Egress)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

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

// translateRule returns one rule for all numeric ports, and one more for each number that a named port resolves to.
func (p *translation) translateRule(d intent.Direction, r rule) []intent.Rule {
	peers := p.parsePeers(r)
	ports := p.parsePorts(r)
	if p.account.Err() != nil {
		return nil
	}
	var rules []intent.Rule
	if ports.numeric.Any || len(ports.numeric.Ranges) > 0 {
		rules = append(rules, intent.Rule{
			Path: r.path, Action: intent.Allow, Peer: p.peer(peers.all), Ports: ports.numeric,
		})
	}
	for _, name := range ports.named {
		if d == intent.Ingress {
			rules = append(rules, p.namedIngress(r.path, peers, name)...)
		} else {
			rules = append(rules, p.namedEgress(r.path, peers, name)...)
		}
	}
	return slices.DeleteFunc(rules, func(r intent.Rule) bool { return r.Peer.Kind == intent.PeerNone })
}

// peer returns the peer for spec; nil means any.
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

func (p *translation) logging() intent.Logging {
	ns := p.namespaces[p.np.Namespace]
	var base intent.Logging
	if ns != nil {
		base, _ = loggingOf(ns.Annotations, &field.Faults{}) // reported with the namespace
	}
	if own, ok := loggingOf(p.np.Annotations, &p.Faults); ok {
		return own
	}
	return base
}
