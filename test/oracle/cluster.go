package oracle

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Cluster is the objects that decide which connections are allowed. Order does not matter, except that it decides the
// order of Verdict.Why.
type Cluster struct {
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
	Nodes      []*corev1.Node
	Policies   []*networkingv1.NetworkPolicy
	Services   []*corev1.Service
	Slices     []*discoveryv1.EndpointSlice
	// Endpoints count for Services that no slice belongs to.
	Endpoints []*corev1.Endpoints //nolint:staticcheck // SA1019: clusters still have them.
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
	// Node is where the flow enters the network; "" is the node of the pod that sends, and unknown for anybody else.
	Node string
	// Network is the logical network that the flow is in; "" is the default one. Only the frontends of Services look at it.
	Network string
}

// Verdict is what the policies, and the Service that the flow goes to, say of a flow. The zero value denies.
//
// For a flow to a Service the first three speak of all backends: they are true when there is a backend and the policies
// allow every one.
type Verdict struct {
	Allowed        bool // both directions allow
	EgressAllowed  bool // the policies of the source
	IngressAllowed bool // the policies of the destination
	// Why lists the reasons, such as "egress: not isolated" or "ingress: allowed by shop/web spec.ingress[0]". It is
	// for people.
	Why []string
	// Service is "namespace/name" of the Service that the flow goes to; "" when its destination is no frontend of one.
	Service string
	// Refused says that the Service has no backend at all for the frontend. A flow to a Service that has neither this nor
	// backends is dropped.
	Refused bool
	// Backends are those that the Service may choose, each once, ordered by address and port.
	Backends []Backend
}

// Backend is where a Service may send a flow, and what the policies say of the flow then.
type Backend struct {
	Addr           netip.Addr
	Port           int32
	Pod            string // "namespace/name" of the pod that holds the address, the first of several; "" when none does
	Allowed        bool
	EgressAllowed  bool
	IngressAllowed bool
}

// Allowed judges one flow. It reads the whole cluster every time: see Freeze.
func (c *Cluster) Allowed(f Flow) Verdict { return c.Freeze().Allowed(f) }

// Freeze prepares the answers to many questions about c as it is now. Later changes of c may or may not be seen.
func (c *Cluster) Freeze() *Frozen {
	z := &Frozen{
		byName:     map[string]*corev1.Pod{},
		byAddr:     map[netip.Addr][]*corev1.Pod{},
		owner:      map[netip.Addr]*corev1.Pod{},
		namespaces: map[string]map[string]string{},
		nodes:      map[string][]netip.Addr{},
		policies:   map[string][]*networkingv1.NetworkPolicy{},
		zones:      map[string]string{},
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
	z.resolveAddresses()
	for _, n := range c.Namespaces {
		z.namespaces[n.Name] = namespaceLabels(n)
	}
	for _, n := range c.Nodes {
		z.nodes[n.Name] = nodeAddrs(n)
		z.zones[n.Name] = n.Labels[corev1.LabelTopologyZone]
	}
	for _, p := range c.Policies {
		z.policies[p.Namespace] = append(z.policies[p.Namespace], p)
	}
	z.slices = slicesByService(c)
	z.frontends = frontends(c)
	return z
}
