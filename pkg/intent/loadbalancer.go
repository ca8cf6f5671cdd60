package intent

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// LoadBalancerID names a load balancer: a function of the source object.
type LoadBalancerID string

// LoadBalancer determines where traffic to the frontends of one source object is sent. It is read-only, and the slices
// of its parts may be shared.
type LoadBalancer struct {
	ID      LoadBalancerID
	Origin  Origin
	Network string // the logical network whose endpoints it serves; "" means the default one
	// Affinity is for how many seconds after its last connection a client is sent to the same backend; 0 means no affinity.
	Affinity uint32
	// RejectEmpty causes flows to be rejected at once while the frontend has no backends at all; otherwise they are dropped.
	RejectEmpty bool
	// HealthCheckPort is the port where nodes report to an external load balancer whether they have a backend; 0 is
	// none. It is only recorded: nothing listens there.
	HealthCheckPort uint16
	Frontends       []Frontend // ordered by Compare, no two equal
}

// Equal reports whether two load balancers have the same fields. The cost depends on the frontends, and on what their backends do not share.
func (l *LoadBalancer) Equal(o *LoadBalancer) bool {
	if l == nil || o == nil || l == o {
		return l == o
	}
	return l.ID == o.ID && l.Origin == o.Origin && l.Network == o.Network && l.Affinity == o.Affinity && l.RejectEmpty == o.RejectEmpty &&
		l.HealthCheckPort == o.HealthCheckPort && slices.EqualFunc(l.Frontends, o.Frontends, func(a, b Frontend) bool { return a.equal(&b) })
}

// FrontendKind is where the address of a frontend comes from. The zero value is none.
type FrontendKind uint8

// The kinds of frontends: a ServiceSpec.clusterIPs entry, a node's address with a node port, an entry of
// ServiceSpec.externalIPs, an entry of ServiceStatus.loadBalancer.ingress.
const (
	ClusterAddress FrontendKind = iota + 1
	NodePort
	ExternalAddress
	IngressAddress
)

// String returns the kind's lower-case name.
func (k FrontendKind) String() string {
	switch k {
	case ClusterAddress:
		return "cluster"
	case NodePort:
		return "nodeport"
	case ExternalAddress:
		return "external"
	case IngressAddress:
		return "ingress"
	default:
		return fmt.Sprintf("frontend(%d)", uint8(k))
	}
}

// Locality determines which of its backends a frontend uses. The zero value is Anywhere.
type Locality uint8

// Anywhere is any backend, unless hints limit them to those for the flow's node or zone. NodeOfFlow is those on the
// node where the flow enters. NodeOfFrontend is those on the node that has the frontend's address. NodeOfOutsideFlow is
// NodeOfFlow for a flow whose source is not an endpoint and Anywhere for all others.
const (
	Anywhere Locality = iota
	NodeOfFlow
	NodeOfFrontend
	NodeOfOutsideFlow
)

// String returns the locality's name.
func (l Locality) String() string {
	switch l {
	case Anywhere:
		return "anywhere"
	case NodeOfFlow:
		return "node of flow"
	case NodeOfFrontend:
		return "node of frontend"
	case NodeOfOutsideFlow:
		return "node of outside flow"
	default:
		return fmt.Sprintf("locality(%d)", uint8(l))
	}
}

// KeepsSource reports whether the backend has to see the source address of the flow, as externalTrafficPolicy Local requires.
func (l Locality) KeepsSource() bool { return l == NodeOfFrontend || l == NodeOfOutsideFlow }

// Frontend is one address, protocol and port that traffic is sent to. The zero value has no backends.
type Frontend struct {
	Addr     netip.Addr
	Protocol Protocol // TCP, UDP or SCTP
	Port     uint16   // 1 to 65535
	Kind     FrontendKind
	Path     string // its field in the source object, such as "spec.ports[0]"
	Node     string // of a NodePort, the node that has the address; "" for the other kinds
	Locality Locality
	// Denied are sources whose flows are dropped before they are balanced; sorted, masked, disjoint.
	Denied   []netip.Prefix
	Backends Backends // of the frontend's family
}

// Compare orders frontends by address, protocol and port, which together name them.
func (f *Frontend) Compare(o *Frontend) int {
	return cmp.Or(f.Addr.Compare(o.Addr), cmp.Compare(f.Protocol, o.Protocol), cmp.Compare(f.Port, o.Port))
}

func (f *Frontend) equal(o *Frontend) bool {
	return f.Compare(o) == 0 && f.Kind == o.Kind && f.Path == o.Path && f.Node == o.Node && f.Locality == o.Locality &&
		samePrefixes(f.Denied, o.Denied) && f.Backends.Equal(o.Backends)
}

// samePrefixes reports whether two lists are equal, at once if they are the same.
func samePrefixes(a, b []netip.Prefix) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// String renders f as tcp/10.96.0.1:80.
func (f *Frontend) String() string {
	return f.Protocol.String() + "/" + netip.AddrPortFrom(f.Addr, f.Port).String()
}

// Node is a machine that endpoints run on and where flows enter the network.
type Node struct {
	Name string
	Zone string // topology zone; "" if unknown
	// SystemID is the name that the switch of the node uses for itself, if that is known and not the node's name.
	SystemID string
	Addrs    []netip.Addr // its own addresses, sorted
}
