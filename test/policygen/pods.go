package policygen

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// pod makes a pod in any relevant state: running, pending without an address, finished with an address that another pod
// may have by now, or on the host network.
func (g *generator) pod(ns, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: g.meta(ns, name, g.labels(podAlphabet()))}
	node := g.rng.IntN(len(g.c.Nodes))
	p.Spec.NodeName = g.c.Nodes[node].Name
	g.containers(p)
	p.Status.Phase = corev1.PodRunning
	switch {
	case g.chance(8):
		p.Spec.HostNetwork = true
		g.setAddrs(p, nodeAddrs(g.c.Nodes[node]))
	case g.chance(8): //nolint:gocritic // another draw
		p.Status.Phase = corev1.PodPending
		if g.chance(50) {
			p.Spec.NodeName = ""
		}
	case g.chance(12):
		p.Status.Phase = pick(g, []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed})
		g.setAddrs(p, g.staleAddrs(node))
	default:
		g.setAddrs(p, g.freshAddrs(node))
		if g.chance(10) {
			p.Status.Phase = corev1.PodPending
		}
	}
	return p
}

// containers gives p ports: names from a small alphabet with numbers and protocols that differ from pod to pod.
func (g *generator) containers(p *corev1.Pod) {
	p.Spec.Containers, p.Spec.InitContainers = nil, nil
	for i := range 1 + g.rng.IntN(2) {
		p.Spec.Containers = append(p.Spec.Containers, g.container(fmt.Sprintf("c%d", i)))
	}
	if g.chance(20) {
		c := g.container("init")
		if g.chance(60) {
			always := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
}

func (g *generator) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: "example.com/app"}
	for _, port := range portNames() {
		if !g.chance(45) {
			continue
		}
		c.Ports = append(c.Ports, corev1.ContainerPort{
			Name: port, ContainerPort: pick(g, portNumbers()), Protocol: pick(g, protocols()),
		})
	}
	return c
}

func portNames() []string  { return []string{"web", "dns", "api"} }
func portNumbers() []int32 { return []int32{53, 80, 81, 443, 8000, 8080, 9000} }

func protocols() []corev1.Protocol {
	return []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
}

// setAddrs sets the addresses of p. Nil removes them.
func (g *generator) setAddrs(p *corev1.Pod, addrs []netip.Addr) {
	p.Status.PodIP, p.Status.PodIPs = "", nil
	for i, a := range addrs {
		if i == 0 {
			p.Status.PodIP = a.String()
		}
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a.String()})
	}
}

// freshAddrs is addresses for a live pod: mostly ones that no live pod has, preferably of a finished pod; occasionally
// those of another one.
func (g *generator) freshAddrs(node int) []netip.Addr {
	used := map[netip.Addr]bool{}
	var left []netip.Addr
	for _, p := range g.c.Pods {
		if onPodNetwork(p) {
			for _, a := range podAddrs(p) {
				used[a] = true
			}
		} else if !p.Spec.HostNetwork {
			left = append(left, podAddrs(p)...)
		}
	}
	v4 := g.families == IPv4Only || g.families == DualStack && g.chance(85)
	v6 := g.families == IPv6Only || g.families == DualStack && (!v4 || g.chance(85))
	var addrs []netip.Addr
	for _, family := range []struct {
		want bool
		v4   bool
	}{{v4, true}, {v6, false}} {
		if !family.want {
			continue
		}
		a := podAddr(node, g.rng.IntN(100+len(g.c.Pods))+2, family.v4)
		if len(left) > 0 && g.chance(40) {
			if old := pick(g, left); old.Is4() == family.v4 {
				a = old
			}
		}
		for i := 102 + len(g.c.Pods); used[a] && !g.chance(3); i++ {
			a = podAddr(node, i, family.v4)
		}
		addrs = append(addrs, a)
	}
	if g.chance(20) {
		slices.Reverse(addrs)
	}
	return addrs
}

// staleAddrs is addresses of a finished pod: often those of a live one.
func (g *generator) staleAddrs(node int) []netip.Addr {
	if len(g.c.Pods) > 0 && g.chance(70) {
		if p := pick(g, g.c.Pods); onPodNetwork(p) {
			return podAddrs(p)
		}
	}
	return g.freshAddrs(node)
}

func podAddr(node, i int, v4 bool) netip.Addr {
	if v4 {
		return netip.AddrFrom4([4]byte{10, byte(244 + i>>8), byte(node), byte(i)}) //nolint:gosec // G115: small numbers of a test.
	}
	a := netip.MustParseAddr("fd00:10::").As16()
	a[7], a[14], a[15] = byte(node), byte(i>>8), byte(i) //nolint:gosec // G115: small numbers of a test.
	return netip.AddrFrom16(a)
}

// onPodNetwork reports whether p is alive, with a pod IP.
func onPodNetwork(p *corev1.Pod) bool {
	finished := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	return !p.Spec.HostNetwork && !finished && len(p.Status.PodIPs) > 0
}

func podAddrs(p *corev1.Pod) []netip.Addr {
	var addrs []netip.Addr
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			addrs = append(addrs, a)
		}
	}
	return addrs
}
