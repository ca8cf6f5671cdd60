package policygen

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/test/oracle"
)

// target is an address, protocol and port that some Service may have.
type target struct {
	addr     netip.Addr
	protocol corev1.Protocol
	port     int32
	network  string
}

// targets lists possible frontends of the cluster's Services, by family: IPv4, then IPv6. They include node ports and
// addresses of families that a Service lacks.
func (g *generator) targets() [2][]target {
	var all [2][]target
	add := func(t target) {
		family := 1
		if t.addr.Is4() {
			family = 0
		}
		all[family] = append(all[family], t)
	}
	for _, s := range g.c.Services {
		network := s.Annotations["netloom.io/network"] + s.Annotations["ovn.kubernetes.io/vpc"]
		for _, p := range s.Spec.Ports {
			for _, a := range g.frontendAddrs(s) {
				add(target{a, p.Protocol, p.Port, network})
			}
			if p.NodePort == 0 {
				continue
			}
			for _, n := range g.c.Nodes {
				for _, a := range nodeAddrs(n) {
					add(target{a, p.Protocol, p.NodePort, network})
				}
			}
		}
	}
	return all
}

// aim sends a flow to t, mostly exactly.
func (g *generator) aim(f *oracle.Flow, t target, numbers []int32) {
	f.Dst, f.Protocol, f.Port = oracle.End{Addr: t.addr}, t.protocol, t.port
	if g.chance(92) {
		f.Network = t.network
	}
	switch {
	case g.chance(5):
		f.Port = pick(g, numbers)
	case g.chance(5): //nolint:gocritic // another draw
		f.Protocol = pick(g, protocols())
	case g.chance(2):
		f.Protocol, f.Port = oracle.ICMP, 0
	}
}

// enter sets where a flow enters: at the node of the sending pod, at the node with the source address, or anywhere.
func (g *generator) enter(f *oracle.Flow) {
	for _, p := range g.c.Pods {
		if f.Src.Pod != "" && f.Src.Pod == p.Namespace+"/"+p.Name {
			f.Node = p.Spec.NodeName
			return
		}
	}
	for _, n := range g.c.Nodes {
		if slices.Contains(nodeAddrs(n), f.Src.Addr) {
			f.Node = n.Name
			return
		}
	}
	if len(g.c.Services) > 0 && len(g.c.Nodes) > 0 && g.chance(90) {
		f.Node = pick(g, g.c.Nodes).Name
	}
}
