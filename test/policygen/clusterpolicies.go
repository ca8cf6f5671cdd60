package policygen

import (
	"fmt"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

// clusterPolicies adds n cluster-wide policies of all kinds, labels of nodes for them, and answers of DNS.
func (g *generator) clusterPolicies(n int) {
	if n == 0 {
		return
	}
	for _, node := range g.c.Nodes {
		g.labelNode(node)
		if g.chance(20) {
			node.Status.Addresses[0].Address = fmt.Sprintf("198.51.100.%d", g.rng.IntN(250)+1) // a host name that is an address
		}
	}
	g.c.Answers = map[string][]netip.Addr{}
	for _, name := range domainNames() {
		g.answer(name)
	}
	for i := range n {
		switch k := g.rng.IntN(10); {
		case k < 6 || k == 9 && len(g.c.BaselinePolicies) > 0:
			g.c.ClusterPolicies = append(g.c.ClusterPolicies, g.clusterPolicy(clusterPolicyName(i)))
		case k < 9:
			g.c.AdminPolicies = append(g.c.AdminPolicies, g.adminPolicy(clusterPolicyName(i)))
		default:
			g.c.BaselinePolicies = append(g.c.BaselinePolicies, g.baselinePolicy())
		}
	}
}

// clusterPolicyName returns names whose order differs from that of their numbers.
func clusterPolicyName(i int) string { return fmt.Sprintf("%c-policy.%d", 'a'+(i*7)%26, i) }

func (g *generator) clusterPolicy(name string) *v1alpha2.ClusterNetworkPolicy {
	return &v1alpha2.ClusterNetworkPolicy{ObjectMeta: g.meta("", name, nil), Spec: g.clusterSpec()}
}

// clusterSpec makes the spec of a ClusterNetworkPolicy.
func (g *generator) clusterSpec() v1alpha2.ClusterNetworkPolicySpec {
	s := v1alpha2.ClusterNetworkPolicySpec{
		Tier: pick(g, []v1alpha2.Tier{v1alpha2.AdminTier, v1alpha2.AdminTier, v1alpha2.BaselineTier}), Priority: g.priority(),
	}
	s.Subject.Namespaces, s.Subject.Pods = g.podPeer()
	if g.oddly(4) {
		s.Tier = pick(g, []v1alpha2.Tier{"", "NetworkPolicy", "Platform"})
	}
	for range pick(g, []int{0, 1, 1, 2, 3}) {
		r := v1alpha2.ClusterNetworkPolicyIngressRule{Name: g.ruleName(), Action: g.action("Accept"), Protocols: g.protocolMatches()}
		for range g.peerCount() {
			p := v1alpha2.ClusterNetworkPolicyIngressPeer{}
			p.Namespaces, p.Pods = g.podPeer()
			r.From = append(r.From, p)
		}
		s.Ingress = append(s.Ingress, r)
	}
	for range pick(g, []int{0, 1, 1, 2, 3}) {
		r := v1alpha2.ClusterNetworkPolicyEgressRule{Name: g.ruleName(), Action: g.action("Accept"), Protocols: g.protocolMatches()}
		named := false
		for _, p := range r.Protocols {
			named = named || p.DestinationNamedPort != ""
		}
		for range g.peerCount() {
			r.To = append(r.To, g.egressPeer(!named, r.Action == v1alpha2.ClusterNetworkPolicyRuleActionAccept))
		}
		s.Egress = append(s.Egress, r)
	}
	return s
}

// oddly is true in p of 100 cases, if odd objects are wanted.
func (g *generator) oddly(p int) bool { return g.odd && g.chance(p) }

// priority makes a priority; many policies have the same one.
func (g *generator) priority() int32 {
	if g.oddly(6) {
		return pick(g, []int32{-1, -1000, 1001, 1002, 1 << 30})
	}
	return pick(g, []int32{0, 10, 10, 10, 20, 30, 500, 1000})
}

func (g *generator) ruleName() string { return pick(g, []string{"", "", "dns", "lock down"}) }

// action makes an action; accepting is the word of the kind for the one that accepts.
func (g *generator) action(accepting string) v1alpha2.ClusterNetworkPolicyRuleAction {
	if g.oddly(4) {
		return pick(g, []v1alpha2.ClusterNetworkPolicyRuleAction{"", "Accept", "Allow", "Reject", "Pass"})
	}
	return pick(g, []v1alpha2.ClusterNetworkPolicyRuleAction{
		v1alpha2.ClusterNetworkPolicyRuleAction(accepting), v1alpha2.ClusterNetworkPolicyRuleActionDeny,
		v1alpha2.ClusterNetworkPolicyRuleActionPass,
	})
}

func (g *generator) peerCount() int {
	if g.oddly(4) {
		return 0
	}
	return 1 + g.rng.IntN(4)/2
}

// podPeer selects pods in one of the two ways, as a peer or a subject.
func (g *generator) podPeer() (*metav1.LabelSelector, *v1alpha2.NamespacedPod) {
	namespaces := g.clusterSelector(namespaceAlphabet())
	if g.chance(25) {
		namespaces = metav1.LabelSelector{}
	}
	if g.chance(10) {
		namespaces = metav1.LabelSelector{MatchLabels: map[string]string{
			"kubernetes.io/metadata.name": namespaceName(g.rng.IntN(4)),
		}}
	}
	pods := &v1alpha2.NamespacedPod{NamespaceSelector: namespaces, PodSelector: g.clusterSelector(podAlphabet())}
	if g.oddly(3) {
		return nil, nil
	}
	switch {
	case g.oddly(3):
		return &namespaces, pods
	case g.chance(45):
		return &namespaces, nil
	default:
		return nil, pods
	}
}

// clusterSelector makes a selector. The schema of the kinds leaves operators and values open.
func (g *generator) clusterSelector(alphabet []label) metav1.LabelSelector {
	s := g.selector(alphabet)
	if g.oddly(3) {
		s.MatchExpressions = append(s.MatchExpressions, pick(g, []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: "Like", Values: []string{"a"}},
			{Key: "app", Operator: metav1.LabelSelectorOpIn},
			{Key: "app", Operator: metav1.LabelSelectorOpExists, Values: []string{"a"}},
		}))
	}
	return s
}

// egressPeer makes a peer of an egress rule; anything is whether it may be other than pods.
func (g *generator) egressPeer(anything, domains bool) v1alpha2.ClusterNetworkPolicyEgressPeer {
	var p v1alpha2.ClusterNetworkPolicyEgressPeer
	switch k := g.rng.IntN(8); {
	case k < 4 || !anything && !g.oddly(10):
		p.Namespaces, p.Pods = g.podPeer()
	case k == 4:
		nodes := g.clusterSelector(nodeAlphabet())
		p.Nodes = &nodes
	case k == 5 && (domains || g.oddly(30)):
		for range 1 + g.rng.IntN(2) {
			p.DomainNames = appendNew(p.DomainNames, v1alpha2.DomainName(pick(g, domainNames())))
		}
	default:
		for range 1 + g.rng.IntN(3) {
			p.Networks = appendNew(p.Networks, v1alpha2.CIDR(g.spell(g.prefix())))
		}
		if g.oddly(5) {
			p.Networks = append(p.Networks, pick(g, []v1alpha2.CIDR{"10.0.0.0", "10.0.0.0/40", "everything"}))
		}
	}
	if g.oddly(3) {
		p.Networks = append(p.Networks, "10.244.0.0/16")
	}
	return p
}

// appendNew appends to a list that may have nothing twice.
func appendNew[T comparable](to []T, item T) []T {
	if slices.Contains(to, item) {
		return to
	}
	return append(to, item)
}

// protocolMatches makes a list of protocols: absent or up to three that may overlap.
func (g *generator) protocolMatches() []v1alpha2.ClusterNetworkPolicyProtocol {
	switch {
	case g.chance(35):
		return nil
	case g.oddly(5):
		return []v1alpha2.ClusterNetworkPolicyProtocol{}
	}
	var all []v1alpha2.ClusterNetworkPolicyProtocol
	for range 1 + g.rng.IntN(3) {
		all = append(all, g.protocolMatch())
	}
	return all
}

func (g *generator) protocolMatch() v1alpha2.ClusterNetworkPolicyProtocol {
	var p v1alpha2.ClusterNetworkPolicyProtocol
	if g.chance(20) {
		p.DestinationNamedPort = pick(g, append(portNames(), "nobody"))
		if !g.oddly(10) {
			return p
		}
	}
	if g.oddly(4) {
		return p
	}
	switch k, port := g.rng.IntN(4), g.portMatch(); k {
	case 0, 1:
		p.TCP = &v1alpha2.ClusterNetworkPolicyProtocolTCP{DestinationPort: port}
	case 2:
		p.UDP = &v1alpha2.ClusterNetworkPolicyProtocolUDP{DestinationPort: port}
	default:
		p.SCTP = &v1alpha2.ClusterNetworkPolicyProtocolSCTP{DestinationPort: port}
	}
	return p
}

// portMatch makes a number or a range.
func (g *generator) portMatch() *v1alpha2.Port {
	number := pick(g, portNumbers())
	end := number + pick(g, []int32{1, 2, 27, 400, 30000})
	if g.oddly(4) {
		return pick(g, []*v1alpha2.Port{nil, {}, {Number: -1}, {Number: 65536}})
	}
	switch {
	case g.oddly(4):
		return &v1alpha2.Port{Range: &v1alpha2.PortRange{Start: end, End: number}}
	case g.oddly(2):
		return &v1alpha2.Port{Number: number, Range: &v1alpha2.PortRange{Start: number, End: end}}
	case g.chance(60):
		return &v1alpha2.Port{Number: number}
	case g.chance(10):
		return &v1alpha2.Port{Range: &v1alpha2.PortRange{Start: 1, End: 65535}}
	default:
		return &v1alpha2.Port{Range: &v1alpha2.PortRange{Start: number, End: end}}
	}
}
