package oracle

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

const in, out = networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress

func (z *Frozen) readClusterPolicy(p *v1alpha2.ClusterNetworkPolicy) *clusterPolicy {
	r := &clusterPolicy{kind: "ClusterNetworkPolicy", name: p.Name, tier: p.Spec.Tier, priority: p.Spec.Priority}
	subject := peerFields{namespaces: p.Spec.Subject.Namespaces}
	if s := p.Spec.Subject.Pods; s != nil {
		subject.podNamespaces, subject.pods = &s.NamespaceSelector, &s.PodSelector
	}
	var ingress, egress []ruleFields
	for i := range p.Spec.Ingress {
		rule := &p.Spec.Ingress[i]
		fields := ruleFields{action: knownAs(string(rule.Action), accept, accept, deny, pass)}
		for _, peer := range rule.From {
			f := peerFields{namespaces: peer.Namespaces}
			if peer.Pods != nil {
				f.podNamespaces, f.pods = &peer.Pods.NamespaceSelector, &peer.Pods.PodSelector
			}
			fields.peers = append(fields.peers, f)
		}
		fields.ports, fields.filtered = portsOf(rule.Protocols), rule.Protocols != nil
		ingress = append(ingress, fields)
	}
	for i := range p.Spec.Egress {
		rule := &p.Spec.Egress[i]
		fields := ruleFields{action: knownAs(string(rule.Action), accept, accept, deny, pass)}
		for _, peer := range rule.To {
			f := peerFields{namespaces: peer.Namespaces, nodes: peer.Nodes}
			if peer.Pods != nil {
				f.podNamespaces, f.pods = &peer.Pods.NamespaceSelector, &peer.Pods.PodSelector
			}
			for _, n := range peer.Networks {
				f.networks = append(f.networks, string(n))
			}
			for _, n := range peer.DomainNames {
				f.domains = append(f.domains, string(n))
			}
			fields.peers = append(fields.peers, f)
		}
		fields.ports, fields.filtered = portsOf(rule.Protocols), rule.Protocols != nil
		egress = append(egress, fields)
	}
	z.finish(r, subject, ingress, egress)
	return r
}

// portsOf reads the protocols of a ClusterNetworkPolicy.
func portsOf(list []v1alpha2.ClusterNetworkPolicyProtocol) []portFields {
	var all []portFields
	for _, p := range list {
		var f portFields
		set := func(protocol corev1.Protocol, port *v1alpha2.Port) {
			f.fields++
			f.protocol = protocol
			switch {
			case port == nil || port.Number != 0 && port.Range != nil:
			case port.Range != nil:
				f.first, f.last = port.Range.Start, port.Range.End
			default:
				f.first, f.last = port.Number, port.Number
			}
		}
		if p.TCP != nil {
			set(corev1.ProtocolTCP, p.TCP.DestinationPort)
		}
		if p.UDP != nil {
			set(corev1.ProtocolUDP, p.UDP.DestinationPort)
		}
		if p.SCTP != nil {
			set(corev1.ProtocolSCTP, p.SCTP.DestinationPort)
		}
		if p.DestinationNamedPort != "" {
			f.fields, f.name = f.fields+1, p.DestinationNamedPort
		}
		all = append(all, f)
	}
	return all
}

// ruleFields, peerFields and portFields are what the kinds have in common.
type ruleFields struct {
	action   string // "" if it is unknown
	peers    []peerFields
	ports    []portFields
	filtered bool // the list of ports is set, though it may be empty
}

type peerFields struct {
	namespaces          *metav1.LabelSelector
	podNamespaces, pods *metav1.LabelSelector // both or none
	nodes               *metav1.LabelSelector
	networks, domains   []string
}

type portFields struct {
	fields      int // how many are set; exactly one has to be
	protocol    corev1.Protocol
	first, last int32 // inclusive
	name        string
}

// knownAs returns the action of a rule in the words of ClusterNetworkPolicy, "" if it is none of those that its kind has.
// The kind accepts with the given word.
func knownAs(action, accepting string, known ...string) string {
	switch {
	case !slices.Contains(known, action):
		return ""
	case action == accepting:
		return accept
	default:
		return action
	}
}

// finish reads the subject and the rules. What a policy whose subject or tier cannot be read denies or passes is denied for
// every pod that it may select, before all other policies if its tier is unknown; what it accepts is not accepted.
func (z *Frozen) finish(p *clusterPolicy, subject peerFields, ingress, egress []ruleFields) {
	selected, readable := z.readSubject(subject)
	p.subject = selected
	if p.tier != v1alpha2.AdminTier && p.tier != v1alpha2.BaselineTier {
		p.tier, readable = v1alpha2.AdminTier, false
	}
	p.has = map[networkingv1.PolicyType]bool{in: len(ingress) > 0, out: len(egress) > 0}
	p.rules = map[networkingv1.PolicyType][]clusterRule{}
	for d, list := range map[networkingv1.PolicyType][]ruleFields{in: ingress, out: egress} {
		for i := range list {
			where := fmt.Sprintf("spec.ingress[%d]", i)
			if d == out {
				where = fmt.Sprintf("spec.egress[%d]", i)
			}
			for _, r := range z.readRule(where, &list[i]) {
				if !readable {
					if r.action == accept {
						continue
					}
					r.action = deny
				}
				p.rules[d] = append(p.rules[d], r)
			}
		}
	}
}

// readRule reads one rule; an unknown action denies everything.
func (z *Frozen) readRule(where string, fields *ruleFields) []clusterRule {
	r := clusterRule{where: where, action: fields.action}
	if r.action == "" || len(fields.peers) == 0 || fields.filtered && len(fields.ports) == 0 {
		return closed(r)
	}
	named := slices.ContainsFunc(fields.ports, func(p portFields) bool { return p.name != "" })
	for i := range fields.peers {
		p := &fields.peers[i]
		match, ok := z.readPeer(p)
		switch {
		case !ok, len(p.domains) > 0 && r.action != accept, named && p.pods == nil && p.namespaces == nil:
			return closed(r)
		}
		r.peers = append(r.peers, match)
	}
	for i := range fields.ports {
		match, ok := readPort(&fields.ports[i])
		if !ok {
			return closed(r)
		}
		r.ports = append(r.ports, match)
	}
	return []clusterRule{r}
}
