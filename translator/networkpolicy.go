package translator

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/budget"
)

// policyTranslation is one NetworkPolicy on its way to intents.
type policyTranslation struct {
	*Translator
	problems
	np      *networkingv1.NetworkPolicy
	subject labelcache.Selection
	out     translation
	account *budget.Account
	held    []intent.SetID // the sets of rules; not the subject, and none that is held for its numbers alone
}

// policyRule is an ingress or egress rule: they differ only in the name of their peers' field.
type policyRule struct {
	path  string // such as spec.ingress[0]
	field string // "from" or "to"
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// translatePolicy turns a NetworkPolicy into one intent per direction that it isolates.
func (t *Translator) translatePolicy(np *networkingv1.NetworkPolicy) (*translation, []Problem) {
	p := &policyTranslation{
		Translator: t, problems: problems{of: t.origin(KindNetworkPolicy, np)}, np: np, account: t.budget.Open(),
	}
	selector, err := p.selector(&np.Spec.PodSelector)
	readable := err == nil
	if !readable {
		p.add("spec.podSelector", "%v; every pod of the namespace is isolated and nothing is allowed", err)
		selector = labels.Everything()
	}
	p.subject = labelcache.Selection{Cluster: t.cluster, Namespace: np.Namespace, Pods: selector}
	subject := labelcache.NewTerm(p.subject)
	logging := p.logging()
	edge, _ := t.labelledScope(np, &p.problems)
	for _, d := range p.directions() {
		policy := &intent.Policy{
			ID: policyID(p.of, d), Origin: p.of, Direction: d, Isolates: true, Log: logging,
			Subject: p.sets.hold(p.subjects([]labelcache.Term{subject})), Edge: edge,
		}
		p.out.holds = append(p.out.holds, policy.Subject)
		p.out.gate = p.gateOf(policy.Subject)
		if readable {
			policy.Rules = p.translateRules(d)
		}
		p.out.policies = append(p.out.policies, policy)
		p.out.isolates = append(p.out.isolates, isolation{d, p.own(subject)})
	}
	if err := p.account.Err(); err != nil && readable {
		p.add("spec", "%v; what it selects is isolated and nothing is allowed", err)
		p.dropRules()
	}
	p.out.holds = append(p.out.holds, p.held...)
	return &p.out, p.list
}

// translateRules translates the rules of a direction until there are none left or the budget is used up.
func (p *policyTranslation) translateRules(d intent.Direction) []intent.Rule {
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

// dropRules takes all rules back. What the numbers of named ports depend on is still watched: with fewer of them the policy
// may be within its budget again.
func (p *policyTranslation) dropRules() {
	for _, policy := range p.out.policies {
		policy.Rules = nil
	}
	for _, id := range p.held {
		p.sets.release(id)
	}
	p.held = nil
}

func policyID(o intent.Origin, d intent.Direction) intent.PolicyID {
	return intent.PolicyID(o.String() + "/" + d.String())
}

func (p *policyTranslation) hold(spec setSpec) intent.SetID {
	id := p.sets.hold(spec)
	p.held = append(p.held, id)
	return id
}

// directions are the effective policy types: where the list is empty, Ingress always and Egress if there is an egress
// rule (NetworkPolicySpec.policyTypes). A type that is not known may mean either.
func (p *policyTranslation) directions() []intent.Direction {
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
			p.add(fmt.Sprintf("spec.policyTypes[%d]", i), "%q: expected Ingress or Egress; both are isolated", pt)
			out = append(out, intent.Ingress, intent.Egress)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func rulesOf(np *networkingv1.NetworkPolicy, d intent.Direction) []policyRule {
	var rules []policyRule
	if d == intent.Ingress {
		for i, r := range np.Spec.Ingress {
			rules = append(rules, policyRule{fmt.Sprintf("spec.ingress[%d]", i), "from", r.From, r.Ports})
		}
		return rules
	}
	for i, r := range np.Spec.Egress {
		rules = append(rules, policyRule{fmt.Sprintf("spec.egress[%d]", i), "to", r.To, r.Ports})
	}
	return rules
}

// translateRule is one rule for all numeric ports, and one more for each number that a named port resolves to.
func (p *policyTranslation) translateRule(d intent.Direction, r policyRule) []intent.Rule {
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
	return slices.DeleteFunc(rules, func(r intent.Rule) bool { return r.Peer.Kind == intent.PeerNobody })
}

// peer is the peer that spec means; nil is everyone.
func (p *policyTranslation) peer(spec *setSpec) intent.Peer {
	switch {
	case spec == nil:
		return intent.Peer{Kind: intent.PeerAnyone}
	case spec.empty():
		return intent.Peer{}
	default:
		return intent.Peer{Kind: intent.PeerSet, Set: p.hold(*spec)}
	}
}

func (p *policyTranslation) logging() intent.Logging {
	ns := p.namespaces[p.np.Namespace]
	var base intent.Logging
	if ns != nil {
		base, _ = loggingOf(ns.Annotations, &problems{}) // reported with the namespace
	}
	if own, ok := loggingOf(p.np.Annotations, &p.problems); ok {
		return own
	}
	return base
}
