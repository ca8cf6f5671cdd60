package oracle

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Cluster is the objects that decide which connections are allowed. Order does not matter, except that it decides the
// order of Verdict.Why.
type Cluster struct {
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
	Nodes      []*corev1.Node
	Policies   []*networkingv1.NetworkPolicy
}

// ICMP stands for every protocol that no port entry of a NetworkPolicy can name.
const ICMP corev1.Protocol = "ICMP"

// End is one end of a flow.
type End struct {
	// Pod is "namespace/name" of the pod that sends or receives. When it is empty, it is whichever pods hold the
	// address, or nobody the cluster knows. A name no pod has is an end that no policy can select.
	Pod  string
	Addr netip.Addr
}

// Flow is the first packet of a connection.
type Flow struct {
	Src, Dst End
	Protocol corev1.Protocol // TCP, UDP, SCTP or ICMP
	Port     int32           // destination port; means nothing with ICMP
}

// Verdict is what the policies say of a flow. The zero value denies.
type Verdict struct {
	Allowed        bool // both directions allow
	EgressAllowed  bool // the policies of the source
	IngressAllowed bool // the policies of the destination
	// Why lists the reasons, such as "egress: not isolated" or "ingress: allowed by shop/web spec.ingress[0]". It is
	// for people.
	Why []string
}

// Allowed judges one flow. It reads the whole cluster every time: see Freeze.
func (c *Cluster) Allowed(f Flow) Verdict { return c.Freeze().Allowed(f) }

// Freeze prepares the answers to many questions about c as it is now. Later changes of c may or may not be seen.
func (c *Cluster) Freeze() *Frozen {
	z := &Frozen{
		byName:     map[string]*corev1.Pod{},
		byAddr:     map[netip.Addr][]*corev1.Pod{},
		namespaces: map[string]map[string]string{},
		nodes:      map[string][]netip.Addr{},
		policies:   map[string][]*networkingv1.NetworkPolicy{},
	}
	for _, p := range c.Pods {
		if !onPodNetwork(p) {
			continue
		}
		z.byName[p.Namespace+"/"+p.Name] = p
		for _, a := range podAddrs(p) {
			z.byAddr[a] = append(z.byAddr[a], p)
		}
	}
	for _, n := range c.Namespaces {
		z.namespaces[n.Name] = namespaceLabels(n)
	}
	for _, n := range c.Nodes {
		z.nodes[n.Name] = nodeAddrs(n)
	}
	for _, p := range c.Policies {
		z.policies[p.Namespace] = append(z.policies[p.Namespace], p)
	}
	return z
}
