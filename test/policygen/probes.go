package policygen

import (
	"math/rand/v2"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/test/oracle"
)

// Probes makes n flows worth testing: between pods, nodes and addresses outside, at both ends of the blocks and port
// ranges that the policies name. Both ends are of one family. An end names a pod exactly if it is a live pod of the pod
// network; a pod on the host network is an address of its node. If there are Services, many flows go to their frontends
// or to similar addresses, and every flow has a node where it enters. Nil means that no two ends exist.
func Probes(c *oracle.Cluster, rng *rand.Rand, n int) []oracle.Flow {
	g := &generator{rng: rng, c: c}
	var pods, others [2][]oracle.End // by family
	family := func(a netip.Addr) int {
		if a.Is4() {
			return 0
		}
		return 1
	}
	taken := map[netip.Addr]bool{}
	for _, p := range c.Pods {
		for _, a := range podAddrs(p) {
			if onPodNetwork(p) {
				taken[a] = true
				pods[family(a)] = append(pods[family(a)], oracle.End{Pod: p.Namespace + "/" + p.Name, Addr: a})
			}
		}
	}
	for _, a := range otherAddrs(c) {
		if !taken[a] {
			others[family(a)] = append(others[family(a)], oracle.End{Addr: a})
		}
	}
	var families []int
	for i := range pods {
		if len(pods[i]) > 0 {
			families = append(families, i)
		}
	}
	if len(families) == 0 {
		return nil
	}
	numbers := interestingPorts(c)
	targets := g.targets()
	flows := make([]oracle.Flow, 0, n)
	for range n {
		f := pick(g, families)
		flow := oracle.Flow{Src: pick(g, pods[f]), Dst: pick(g, pods[f])}
		if len(others[f]) > 0 {
			switch g.rng.IntN(10) {
			case 0, 1, 2:
				flow.Src = pick(g, others[f])
			case 3, 4, 5:
				flow.Dst = pick(g, others[f])
			}
		}
		flow.Protocol = pick(g, append(protocols(), oracle.ICMP))
		if flow.Protocol != oracle.ICMP {
			flow.Port = pick(g, numbers)
		}
		if len(targets[f]) > 0 && g.chance(60) {
			g.aim(&flow, pick(g, targets[f]), numbers)
		}
		g.enter(&flow)
		flows = append(flows, flow)
	}
	return flows
}

// otherAddrs is addresses that do not, or may not, belong to a live pod: nodes, finished pods, both ends of every block.
func otherAddrs(c *oracle.Cluster) []netip.Addr {
	var addrs []netip.Addr
	for _, n := range c.Nodes {
		addrs = append(addrs, nodeAddrs(n)...)
	}
	for _, p := range c.Pods {
		addrs = append(addrs, podAddrs(p)...)
	}
	for _, s := range []string{"192.0.2.1", "10.244.0.200", "10.1.2.3", "2001:db8::1", "fd00:10::ffff", "2600::1"} {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	around := func(s string) {
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			return
		}
		first, last := prefix.Masked().Addr(), lastOf(prefix)
		for _, a := range []netip.Addr{first.Prev(), first, last, last.Next()} {
			if usable(a) {
				addrs = append(addrs, a)
			}
		}
	}
	eachPeer(c, func(p networkingv1.NetworkPolicyPeer) {
		if p.IPBlock == nil {
			return
		}
		for _, s := range append([]string{p.IPBlock.CIDR}, p.IPBlock.Except...) {
			around(s)
		}
	})
	for _, s := range clusterNetworks(c) {
		around(s)
	}
	for _, name := range []string{"db.example.com", "api.example.com"} {
		for _, a := range c.Answers[name] {
			if usable(a) {
				addrs = append(addrs, a)
			}
		}
	}
	return addrs
}

// usable reports whether a host can send from a: not zero, loopback, multicast, broadcast, nor IPv4 within IPv6.
func usable(a netip.Addr) bool {
	if !a.IsValid() || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast() || a.Is4In6() {
		return false
	}
	return !a.Is4() || (a.As4()[0] != 0 && a.As4()[0] < 224)
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func eachPeer(c *oracle.Cluster, do func(networkingv1.NetworkPolicyPeer)) {
	for _, p := range c.Policies {
		for _, r := range p.Spec.Ingress {
			for _, peer := range r.From {
				do(peer)
			}
		}
		for _, r := range p.Spec.Egress {
			for _, peer := range r.To {
				do(peer)
			}
		}
	}
}

// interestingPorts is every number in a policy or container, and its neighbors.
func interestingPorts(c *oracle.Cluster) []int32 {
	numbers := []int32{1, 80, 65535}
	around := func(n int32) {
		for _, p := range []int32{n - 1, n, n, n + 1} {
			if p > 0 && p < 65536 {
				numbers = append(numbers, p)
			}
		}
	}
	ports := func(list []networkingv1.NetworkPolicyPort) {
		for _, p := range list {
			if p.Port != nil && p.Port.Type == intstr.Int {
				around(p.Port.IntVal)
			}
			if p.EndPort != nil {
				around(*p.EndPort)
			}
		}
	}
	for _, p := range c.Policies {
		for _, r := range p.Spec.Ingress {
			ports(r.Ports)
		}
		for _, r := range p.Spec.Egress {
			ports(r.Ports)
		}
	}
	for _, n := range clusterPorts(c) {
		around(n)
	}
	for _, p := range c.Pods {
		for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range list {
				for _, cp := range list[i].Ports {
					numbers = append(numbers, cp.ContainerPort)
				}
			}
		}
	}
	return numbers
}
