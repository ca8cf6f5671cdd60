package oracle

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

// clusterPolicy is a cluster-wide policy of any kind, as its documentation reads.
type clusterPolicy struct {
	kind, name string
	tier       v1alpha2.Tier
	priority   int32
	last       bool // a BaselineAdminNetworkPolicy, which has no priority and comes after all others
	subject    func(*corev1.Pod) bool
	has        map[networkingv1.PolicyType]bool // whether there are rules, even if they match nothing
	rules      map[networkingv1.PolicyType][]clusterRule
}

// clusterRule is a rule of a cluster-wide policy. Nil peers or ports match everything.
type clusterRule struct {
	where  string // such as spec.ingress[0]
	action string // Accept, Deny or Pass
	peers  []peerMatch
	ports  []portMatch
}

// peerMatch reports whether a peer is the address, which pod owns; pod is nil if none does.
type peerMatch func(pod *corev1.Pod, a netip.Addr) bool

// portMatch reports whether a flow goes to a port of the destination pod, which is nil if none owns the address.
type portMatch func(pod *corev1.Pod, f Flow) bool

// The actions, as ClusterNetworkPolicies name them.
const (
	accept = string(v1alpha2.ClusterNetworkPolicyRuleActionAccept)
	deny   = string(v1alpha2.ClusterNetworkPolicyRuleActionDeny)
	pass   = string(v1alpha2.ClusterNetworkPolicyRuleActionPass)
)

// maxPriority is the last priority that a policy can have.
const maxPriority = 1000

// inOrder orders policies as they are evaluated: by priority; those of one priority by name, then kind.
func inOrder(a, b *clusterPolicy) int {
	if a.last != b.last {
		if b.last {
			return -1
		}
		return 1
	}
	limited := func(n int32) int32 { return min(max(n, 0), maxPriority) }
	return cmp.Or(cmp.Compare(limited(a.priority), limited(b.priority)), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
}

// readClusterPolicies reads all three kinds, in order.
func (z *Frozen) readClusterPolicies(c *Cluster) {
	for _, p := range inForce(c, c.ClusterPolicies) {
		z.clusterPolicies = append(z.clusterPolicies, z.readClusterPolicy(p))
	}
	for _, p := range inForce(c, c.AdminPolicies) {
		z.clusterPolicies = append(z.clusterPolicies, z.readAdminPolicy(p))
	}
	for _, p := range inForce(c, c.BaselinePolicies) {
		z.clusterPolicies = append(z.clusterPolicies, z.readBaselinePolicy(p))
	}
	slices.SortFunc(z.clusterPolicies, inOrder)
}

// inTier applies the first rule of a tier that matches one direction of f: decided is false if none does, or if it passes
// the flow on to the next tier.
func (z *Frozen) inTier(t v1alpha2.Tier, d networkingv1.PolicyType, pods []*corev1.Pod, peer netip.Addr, f Flow) (
	allowed, decided bool, why string,
) {
	for _, p := range z.clusterPolicies {
		if p.tier != t {
			continue
		}
		for i := range p.rules[d] {
			r := &p.rules[d][i]
			if !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
				return p.subject(pod) && z.matchesCluster(d, r, pod, peer, f)
			}) {
				continue
			}
			why = fmt.Sprintf("%s tier: %s by %s %s %s", t, r.action, p.kind, p.name, r.where)
			return r.action == accept, r.action != pass, why
		}
	}
	return false, false, ""
}

// inAnyTier reports whether a cluster-wide policy applies to a direction of one of the pods.
func (z *Frozen) inAnyTier(d networkingv1.PolicyType, pods []*corev1.Pod) bool {
	return slices.ContainsFunc(z.clusterPolicies, func(p *clusterPolicy) bool { return p.has[d] && slices.ContainsFunc(pods, p.subject) })
}

// matchesCluster reports whether r matches the peer and the port of a flow of the subject.
func (z *Frozen) matchesCluster(d networkingv1.PolicyType, r *clusterRule, subject *corev1.Pod, peer netip.Addr, f Flow) bool {
	owner := z.owner[peer]
	if owner == nil && r.action == deny {
		// Any of the pods with the address may be the peer, and a denial is for each of them.
		for _, pod := range z.byAddr[peer] {
			if z.matchesPeer(d, r, subject, pod, peer, f) {
				return true
			}
		}
	}
	return z.matchesPeer(d, r, subject, owner, peer, f)
}

// matchesPeer is matchesCluster for a peer that a pod owns; nil is none.
func (z *Frozen) matchesPeer(d networkingv1.PolicyType, r *clusterRule, subject, owner *corev1.Pod, peer netip.Addr, f Flow) bool {
	destination := subject
	if d == networkingv1.PolicyTypeEgress {
		destination = owner
	}
	return (r.peers == nil || slices.ContainsFunc(r.peers, func(is peerMatch) bool { return is(owner, peer) })) &&
		(r.ports == nil || slices.ContainsFunc(r.ports, func(is portMatch) bool { return is(destination, f) }))
}

// closed returns the rules that stand for one that cannot be understood: none for one that accepts, which then matches no
// traffic, and a "Deny all" for any other.
func closed(r clusterRule) []clusterRule {
	if r.action == accept {
		return nil
	}
	return []clusterRule{{where: r.where, action: deny}}
}
