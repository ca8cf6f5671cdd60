package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
)

// maxPriority is the largest priority of a policy (ClusterNetworkPolicySpec.priority).
const maxPriority = 1000

// afterAll is a priority after all that ClusterNetworkPolicies may have. A BaselineAdminNetworkPolicy does not have one.
const afterAll = maxPriority + 1

// clusterPolicy is a cluster-wide policy being translated to intents.
type clusterPolicy struct {
	translation

	form     *clusterForm
	readable bool // the subject can be read: see subject
}

// translateClusterPolicy turns a cluster-wide policy into one intent for each direction that it has rules for. Anything that cannot be understood
// fails closed, as the types of the API require: an accept rule then matches nothing, and a deny or pass rule denies everything.
func (t *translator) translateClusterPolicy(form *clusterForm) (*result, []object.Problem) {
	p := &clusterPolicy{translation: t.begin(form.kind, form.object), form: form}
	p.readSubject()
	if _, labelled := t.source.LabelledScope(form.object, &field.Faults{}); labelled {
		p.Add("metadata.labels", "a %s is not enforced on CNFs: expected a NetworkPolicy; it applies to pods only", form.kind)
	}
	logging, _ := loggingOf(form.object.GetAnnotations(), &p.Faults)
	subject := labelcache.NewTerm(p.subject)
	tier, priority := p.tier(), p.priority()
	for _, d := range intent.Directions() {
		if len(form.rules[d]) == 0 {
			continue
		}
		policy := &intent.Policy{
			ID: intent.NewPolicyID(p.Of, d), Origin: p.Of, Created: field.Created(form.object), Direction: d, Tier: tier, Priority: priority, Log: logging,
			Subject: p.sets.Retain(&p.out.refs, p.sets.Subjects([]labelcache.Term{subject})),
		}
		p.sets.Gate(&p.out.refs, policy.Subject)
		if p.standing != budget.Beyond {
			policy.Rules = p.translateRules(d)
		}
		if slices.ContainsFunc(policy.Rules, func(r intent.Rule) bool { return r.Action == intent.Pass }) {
			policy.Namespaces = p.subjectNamespaces()
		}
		p.out.policies = append(p.out.policies, policy)
		p.out.denies[d] = p.out.denies[d] || denies(policy.Rules)
	}
	if err := p.charge(); err != nil {
		p.Add("spec", "%v; its rules that deny or pass deny everything, and the others match nothing", err)
		p.close()
	}
	p.out.refs.Join(&p.ruleRefs)
	return &p.out, p.List
}

// readSubject parses the subject. One that cannot be read may be any pod: then nothing is accepted or passed, and what the
// policy denies is denied for all.
func (p *clusterPolicy) readSubject() {
	p.subject = labelcache.Selection{Cluster: p.source.Cluster, Namespaces: labels.Everything()}
	s := &p.form.subject
	if (s.Namespaces == nil) == (s.Pods == nil) {
		p.Add("spec.subject", "expected either namespaces or pods; what the policy denies or passes is denied for every pod")
		return
	}
	selection, err := p.selection(&v1alpha2.ClusterNetworkPolicyEgressPeer{Namespaces: s.Namespaces, Pods: s.Pods})
	if err != nil {
		p.Add("spec.subject", "%v; what the policy denies or passes is denied for every pod", err)
		return
	}
	p.subject, p.subjectValues, p.readable = subjectIn(p.source, selection), peerValues(s.Namespaces, s.Pods), true
}

// maxSubjectNamespaces is how many namespaces a policy lists for its subject.
const maxSubjectNamespaces = 1000

// subjectNamespaces returns the namespaces that the subject selects, for policies with pass rules: only policies that may apply to the same
// pods have to be considered there. It is nil if these are all namespaces, or too many to list. The policy is translated again when they
// change.
func (p *clusterPolicy) subjectNamespaces() []string {
	if p.subject.Namespaces.Empty() {
		return nil
	}
	p.out.namespaces = p.subject.Namespaces
	names := []string{}
	for name, ns := range p.objects.namespaces {
		if p.subject.Namespaces.Matches(labels.Set(ns.Labels)) {
			names = append(names, name)
		}
	}
	if len(names) > maxSubjectNamespaces {
		return nil
	}
	slices.Sort(names)
	return names
}

// tier returns the tier. One that is unknown may come before all others, and accepts and passes nothing.
func (p *clusterPolicy) tier() intent.Tier {
	switch p.form.tier {
	case v1alpha2.AdminTier:
		return intent.TierAdmin
	case v1alpha2.BaselineTier:
		return intent.TierBaseline
	default:
		p.Add("spec.tier", "%q: expected Admin or Baseline; what the policy denies or passes is denied before all other policies", p.form.tier)
		p.readable = false
		return intent.TierAdmin
	}
}

func (p *clusterPolicy) priority() uint16 {
	n := p.form.priority
	if p.form.kind == object.KindBaselineAdminNetworkPolicy {
		return afterAll
	}
	if n < 0 || n > maxPriority {
		p.Add("spec.priority", "%d: expected 0 to %d; the nearest valid value applies", n, maxPriority)
	}
	return uint16(min(max(n, 0), maxPriority)) //nolint:gosec // within 0 to 1000
}

// translateRules translates the rules of a direction until the budget is used up.
func (p *clusterPolicy) translateRules(d intent.Direction) []intent.Rule {
	if !p.account.Spend(budget.Rules, len(p.form.rules[d])) {
		return nil
	}
	var rules []intent.Rule
	for i := range p.form.rules[d] {
		rules = append(rules, p.translateRule(d, &p.form.rules[d][i])...)
		if p.account.Err() != nil {
			return nil
		}
	}
	return rules
}

func (p *clusterPolicy) translateRule(d intent.Direction, r *clusterRule) []intent.Rule {
	action, ok := p.form.does(r)
	if !ok {
		p.Add(r.path+".action", "%q: expected %s; the rule denies everything", r.action, p.form.actionWords())
	}
	peers, peersOK := p.parseClusterPeers(r, action)
	ports, portsOK := p.parseClusterPorts(r, action)
	switch {
	case !ok || !peersOK || !portsOK:
		return closed(r, action)
	case !p.readable && action == intent.Allow:
		return nil
	case !p.readable:
		action = intent.Deny
	}
	return p.rules(d, intent.Rule{Path: r.path, Name: r.name, Action: action}, peers, ports)
}

// closed returns the rule that stands for one that cannot be understood (ClusterNetworkPolicyEgressPeer).
func closed(r *clusterRule, action intent.Action) []intent.Rule {
	if action == intent.Allow {
		return nil
	}
	return []intent.Rule{{
		Path: r.path, Name: r.name, Action: intent.Deny,
		Peer: intent.Peer{Kind: intent.PeerAny}, Ports: intent.Ports{Any: true},
	}}
}

// close replaces all rules by those that stand for rules that cannot be understood. The numbers of named ports are still watched: with
// fewer of them the policy may fit its budget again.
func (p *clusterPolicy) close() {
	p.dropRules()
	for _, policy := range p.out.policies {
		for i := range p.form.rules[policy.Direction] {
			r := &p.form.rules[policy.Direction][i]
			action, _ := p.form.does(r)
			if policy.Rules = closed(r, action); len(policy.Rules) > 0 {
				break // it denies everything
			}
		}
		p.out.denies[policy.Direction] = p.out.denies[policy.Direction] || denies(policy.Rules)
	}
}

// denies reports whether a rule denies.
func denies(rules []intent.Rule) bool {
	for i := range rules {
		if rules[i].Action == intent.Deny {
			return true
		}
	}
	return false
}
