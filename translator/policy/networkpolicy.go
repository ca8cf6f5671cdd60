package policy

import (
	"cmp"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
)

// maxValuesBeyond is how many values the podSelector of a policy beyond the budget of its namespace may compare with. There may be any
// number of such policies.
const maxValuesBeyond = 64

// networkPolicy is a NetworkPolicy being translated to intents.
type networkPolicy struct {
	translation

	np *networkingv1.NetworkPolicy
}

// translateNetworkPolicy turns a NetworkPolicy into one intent per direction that it isolates.
func (t *translator) translateNetworkPolicy(np *networkingv1.NetworkPolicy) (*result, []object.Problem) {
	p := &networkPolicy{translation: t.begin(object.KindNetworkPolicy, np), np: np}
	selector, err := p.selector(&np.Spec.PodSelector)
	if err == nil && p.standing == budget.Beyond && valuesIn(&np.Spec.PodSelector) > maxValuesBeyond {
		err = fmt.Errorf("it compares with more than %d values, and %s", maxValuesBeyond, p.beyond())
	}
	readable := err == nil
	if !readable {
		p.Add("spec.podSelector", "%v; every pod in the namespace is isolated and nothing is allowed", err)
		selector = labels.Everything()
	}
	p.subject = subjectIn(t.source, labelcache.Selection{Cluster: t.source.Cluster, Namespace: np.Namespace, Pods: selector})
	p.subjectValues = valuesIn(&np.Spec.PodSelector)
	subject := labelcache.NewTerm(p.subject)
	p.out.subject, p.out.turn = subject, turnOf(cmp.Or(string(np.UID), p.ref().String()))
	logging := p.logging()
	scope, _ := t.source.LabelledScope(np, &p.Faults)
	for _, d := range p.directions() {
		policy := &intent.Policy{
			ID: intent.NewPolicyID(p.Of, d), Origin: p.Of, Created: field.Created(np), Direction: d, Isolates: true, Log: logging,
			Namespaces: []string{np.Namespace},
			Subject:    p.sets.Retain(&p.out.refs, p.sets.Subjects([]labelcache.Term{subject})), CNFs: scope,
		}
		p.sets.Gate(&p.out.refs, policy.Subject)
		if readable && p.standing != budget.Beyond {
			policy.Rules = p.translateRules(d, logging.Allow != intent.SeverityNone)
			policy.Undeclared, p.undeclared = p.undeclared, nil
		}
		p.out.policies = append(p.out.policies, policy)
		p.sets.Isolate(&p.out.refs, d, subject)
	}
	if err := p.charge(); err != nil {
		if readable {
			p.Add("spec", "%v; the pods that it selects are isolated and nothing is allowed", err)
		}
		p.dropRules()
	}
	p.out.refs.Join(&p.ruleRefs)
	return &p.out, p.List
}

// translateRules translates the rules of a direction until there are none left or the budget is used up. Rules that log are
// indivisible, since a log line names one policy.
func (p *networkPolicy) translateRules(d intent.Direction, log bool) []intent.Rule {
	count := len(p.np.Spec.Ingress)
	if d == intent.Egress {
		count = len(p.np.Spec.Egress)
	}
	if !p.account.Spend(budget.Rules, count) {
		return nil
	}
	var rules []intent.Rule
	for _, r := range rulesOf(p.np, d) {
		peers, ports := p.parsePeers(r), p.parsePorts(r)
		if p.account.Err() == nil {
			like := intent.Rule{Path: r.path, Action: intent.Allow}
			if !log && ports.numbered() && peers.some() {
				p.out.divisible = append(p.out.divisible, divisible{
					policy: len(p.out.policies), rule: len(rules), all: peers.all, peers: peers.each(),
				})
				peers.divided = true
			}
			rules = append(rules, p.rules(d, like, peers, ports)...)
		}
		if p.account.Err() != nil {
			return nil
		}
	}
	return rules
}

// directions returns the effective policy types: if the list is empty, Ingress always and Egress if there is an egress
// rule (NetworkPolicySpec.policyTypes). An unknown type may mean either.
func (p *networkPolicy) directions() []intent.Direction {
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

func (p *networkPolicy) logging() intent.Logging {
	ns := p.objects.namespaces[p.np.Namespace]
	var base intent.Logging
	if ns != nil {
		base, _ = loggingOf(ns.Annotations, &field.Faults{}) // reported with the namespace
	}
	if own, ok := loggingOf(p.np.Annotations, &p.Faults); ok {
		return own
	}
	return base
}
