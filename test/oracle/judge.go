package oracle

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

// Frozen is a cluster at one moment, ready for many questions.
type Frozen struct {
	byName     map[string]*corev1.Pod       // pods on the pod network only
	byAddr     map[netip.Addr][]*corev1.Pod // the same; two pods may have one address
	owner      map[netip.Addr]*corev1.Pod   // the pod that has an address as a peer
	foreign    map[*corev1.Pod]string       // the clusters of pods of other clusters
	set        *Set                         // nil if there is one cluster
	namespaces map[place]map[string]string  // labels
	nodes      map[string][]netip.Addr
	policies   map[string][]*networkingv1.NetworkPolicy // by namespace
	zones      map[string]string                        // of nodes
	nodeList   []*corev1.Node
	answers    map[string][]netip.Addr // of DNS

	clusterPolicies []*clusterPolicy                        // in order
	slices          map[string][]*discoveryv1.EndpointSlice // by slicesKey of their Service
	frontends       map[frontendKey]frontend
	imported        map[*corev1.Service]bool // those that ServiceImports amount to
}

// rule is an ingress or egress rule: both have peers and ports.
type rule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// Allowed evaluates one flow.
func (z *Frozen) Allowed(f Flow) Verdict {
	f.Src.Addr = f.Src.Addr.Unmap().WithZone("")
	f.Dst.Addr = f.Dst.Addr.Unmap().WithZone("")
	if fe, ok := z.frontends[keyOf(f)]; ok {
		return z.serve(f, &fe)
	}
	return z.judge(f)
}

// judge evaluates the policies for a flow without load balancing.
func (z *Frozen) judge(f Flow) Verdict {
	if f.Src.Addr.IsValid() && f.Src.Addr == f.Dst.Addr {
		return Verdict{Allowed: true, EgressAllowed: true, IngressAllowed: true, Why: []string{"a pod may talk to itself"}}
	}
	var v Verdict
	var why []string
	v.EgressAllowed, why = z.direction(networkingv1.PolicyTypeEgress, f)
	v.Why = append(v.Why, why...)
	v.IngressAllowed, why = z.direction(networkingv1.PolicyTypeIngress, f)
	v.Why = append(v.Why, why...)
	v.Allowed = v.EgressAllowed && v.IngressAllowed
	return v
}

// direction evaluates one direction of f. The subject's own node is always admitted. Then come the admin tier, the
// NetworkPolicies, which decide for the pods that they isolate, and the baseline tier. What none of them decides is allowed.
func (z *Frozen) direction(d networkingv1.PolicyType, f Flow) (allowed bool, why []string) {
	name, subject, peer := "ingress", f.Dst, f.Src
	if d == networkingv1.PolicyTypeEgress {
		name, subject, peer = "egress", f.Src, f.Dst
	}
	pods := z.own(z.pods(subject))
	ownNode := func(pod *corev1.Pod) bool { return slices.Contains(z.nodes[pod.Spec.NodeName], peer.Addr) }
	isolating, allowing := z.networkPolicies(d, name, pods, peer.Addr, f)
	if d == networkingv1.PolicyTypeIngress && slices.ContainsFunc(pods, ownNode) {
		if len(isolating) == 0 && !z.inAnyTier(d, pods) {
			return true, []string{name + ": not isolated"}
		}
		return true, []string{name + ": from the pod's own node"}
	}
	allowed, decided, tier := z.inTier(v1alpha2.AdminTier, d, pods, peer.Addr, f)
	if tier != "" {
		why = append(why, name+": "+tier)
	}
	if decided {
		return allowed, why
	}
	switch {
	case len(allowing) > 0 && len(isolating) > 0:
		return true, append(why, allowing...)
	case len(isolating) > 0:
		return false, append(why, isolating...)
	}
	allowed, decided, tier = z.inTier(v1alpha2.BaselineTier, d, pods, peer.Addr, f)
	if tier != "" {
		why = append(why, name+": "+tier)
	}
	if decided {
		return allowed, why
	}
	return true, append(why, name+": not isolated")
}

// networkPolicies lists the NetworkPolicies that isolate the subject in a direction, and their rules that match.
func (z *Frozen) networkPolicies(d networkingv1.PolicyType, name string, pods []*corev1.Pod, peer netip.Addr, f Flow) (
	isolating, allowing []string,
) {
	for _, pod := range pods {
		for _, p := range z.policies[pod.Namespace] {
			if !slices.Contains(policyTypes(p), d) || !z.isSubject(&p.Spec.PodSelector, pod) {
				continue
			}
			isolating = append(isolating, fmt.Sprintf("%s: isolated by %s/%s", name, p.Namespace, p.Name))
			for i, r := range rules(p, d) {
				if z.matches(d, p.Namespace, &r, pod, peer, f) {
					allowing = append(allowing, fmt.Sprintf("%s: allowed by %s/%s spec.%s[%d]", name, p.Namespace, p.Name, name, i))
				}
			}
		}
	}
	return isolating, allowing
}

// pods lists the pods that policies see at one end of a flow.
func (z *Frozen) pods(e End) []*corev1.Pod {
	if e.Pod == "" {
		return z.byAddr[e.Addr]
	}
	if p := z.byName[e.Pod]; p != nil {
		return []*corev1.Pod{p}
	}
	return nil
}

// policyTypes is spec.policyTypes with its default: every policy affects ingress, one with egress rules egress too.
func policyTypes(p *networkingv1.NetworkPolicy) []networkingv1.PolicyType {
	if len(p.Spec.PolicyTypes) > 0 {
		return p.Spec.PolicyTypes
	}
	types := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(p.Spec.Egress) > 0 {
		types = append(types, networkingv1.PolicyTypeEgress)
	}
	return types
}

// rules lists the rules of p in one direction.
func rules(p *networkingv1.NetworkPolicy, d networkingv1.PolicyType) []rule {
	var rs []rule
	if d == networkingv1.PolicyTypeEgress {
		for i := range p.Spec.Egress {
			rs = append(rs, rule{p.Spec.Egress[i].To, p.Spec.Egress[i].Ports})
		}
		return rs
	}
	for i := range p.Spec.Ingress {
		rs = append(rs, rule{p.Spec.Ingress[i].From, p.Spec.Ingress[i].Ports})
	}
	return rs
}

// matches reports whether a rule matches both the peer and the port of f, for the subject pod.
//
// A named port is a name of the destination pod: of the subject for ingress, of the very pod that the peer list selects
// for egress. An address without a pod has no names.
func (z *Frozen) matches(
	d networkingv1.PolicyType, ns string, r *rule, subject *corev1.Pod, peer netip.Addr, f Flow,
) bool {
	if d == networkingv1.PolicyTypeIngress {
		return z.admitsPeer(ns, r, peer) && portMatches(r.ports, subject, f)
	}
	if z.admitsPeer(ns, r, peer) && portMatches(r.ports, nil, f) {
		return true
	}
	if pod := z.owner[peer]; pod != nil {
		if z.admitsNames(ns, r, pod, peer) && portMatches(r.ports, pod, f) {
			return true
		}
	}
	return false
}
