package oracle

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

// Cluster is the objects that decide which connections are allowed. Order does not matter, except that it decides the
// order of Verdict.Why.
type Cluster struct {
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
	Nodes      []*corev1.Node
	Policies   []*networkingv1.NetworkPolicy
	// Cluster-wide policies of the three kinds.
	ClusterPolicies  []*v1alpha2.ClusterNetworkPolicy
	AdminPolicies    []*v1alpha1.AdminNetworkPolicy
	BaselinePolicies []*v1alpha1.BaselineAdminNetworkPolicy

	Services []*corev1.Service
	Slices   []*discoveryv1.EndpointSlice
	Imports  []*mcsv1alpha1.ServiceImport
	// Endpoints apply to Services without slices.
	Endpoints []*corev1.Endpoints //nolint:staticcheck // SA1019: clusters still have them.
	// Answers are those of DNS, by names in lower case without a final dot. A name without an answer has no address.
	Answers map[string][]netip.Addr

	Set *Set // of clusters, in which this is one; nil if there is only one
}

// Set is the other clusters, whose pods can be peers.
type Set struct {
	Own        string              // the name of the cluster whose policies are asked
	Others     map[string]*Cluster // by name; only their pods and namespaces are read
	Everywhere bool                // selectors of peers that do not name clusters select pods of all of them
}

// ICMP represents every protocol that no port entry of a NetworkPolicy can name.
const ICMP corev1.Protocol = "ICMP"

// End is one end of a flow.
type End struct {
	// Pod is "namespace/name" of the pod that sends or receives. If it is empty, the end is the pods with the address, or
	// none in the cluster. A name that no pod has is an end that no policy can select.
	Pod  string
	Addr netip.Addr
}

// Flow is the first packet of a connection.
type Flow struct {
	Src, Dst End
	Protocol corev1.Protocol // TCP, UDP, SCTP or ICMP
	Port     int32           // destination port; ignored with ICMP
	// Node is where the flow enters the network; "" is the node of the sending pod, and unknown for any other sender.
	Node string
	// Network is the logical network of the flow; "" means the default one. Only the frontends of Services use it.
	Network string
	OwnNode bool // the node opens the connection itself
}

// Verdict is the decision of the policies, and of the Service that the flow goes to. The zero value denies.
//
// For a flow to a Service the first three cover all backends: they are true if there is a backend and the policies allow
// every one.
type Verdict struct {
	Allowed        bool // both directions allow
	EgressAllowed  bool // the policies of the source
	IngressAllowed bool // the policies of the destination
	// Why lists the reasons, such as "egress: not isolated" or "ingress: allowed by shop/web spec.ingress[0]", for
	// display.
	Why []string
	// Service is "namespace/name" of the Service that the flow goes to; "" if its destination is not a frontend.
	Service string
	// Refused means that the Service has no backend at all for the frontend. A flow to a Service that has neither this
	// nor backends is dropped.
	Refused bool
	// Backends are those that the Service may choose, each once, ordered by address and port.
	Backends []Backend
}

// Backend is where a Service may send a flow, and what the policies then decide.
type Backend struct {
	Addr           netip.Addr
	Port           int32
	Pod            string // "namespace/name" of the pod with the address, the first of several; "" if there is none
	Allowed        bool
	EgressAllowed  bool
	IngressAllowed bool
}

// Allowed evaluates one flow. It reads the whole cluster every time: see Freeze.
func (c *Cluster) Allowed(f Flow) Verdict { return c.Freeze().Allowed(f) }

// Freeze prepares for many questions about the current state of c. Later changes of c may or may not be seen.
func (c *Cluster) Freeze() *Frozen {
	z := &Frozen{
		byName:     map[string]*corev1.Pod{},
		byAddr:     map[netip.Addr][]*corev1.Pod{},
		owner:      map[netip.Addr]*corev1.Pod{},
		foreign:    map[*corev1.Pod]string{},
		namespaces: map[place]map[string]string{},
		nodes:      map[string][]netip.Addr{},
		policies:   map[string][]*networkingv1.NetworkPolicy{},
		zones:      map[string]string{},
		nodeList:   c.Nodes,
		answers:    c.Answers,
		imported:   map[*corev1.Service]bool{},
	}
	z.addPods(c.Pods, "")
	z.addNamespaces(c.Namespaces, "")
	z.joinSet(c.Set)
	z.resolveAddresses()
	for _, n := range c.Nodes {
		z.nodes[n.Name] = nodeAddrs(n)
		z.zones[n.Name] = n.Labels[corev1.LabelTopologyZone]
	}
	for _, p := range inForce(c, c.Policies) {
		z.policies[p.Namespace] = append(z.policies[p.Namespace], p)
	}
	z.readClusterPolicies(c)
	z.slices = slicesByService(c)
	z.addImported(c, z.slices)
	z.frontends = frontends(c, z.allServices(c))
	return z
}
