package intent

import "net/netip"

// WANPolicy selects the networks through which traffic leaves.
type WANPolicy struct{ Members []WANMember }

// WANMember is a network of a WANPolicy. Those of the lowest metric are used, in proportion to their weights.
type WANMember struct {
	Network string // name, see CNF.Networks
	Metric  int    // from 1
	Weight  int    // from 1
}

// WANRule assigns traffic to a policy. Match has no marks, ICMP types or hardware addresses.
type WANRule struct {
	Policy  DeviceRef
	Match   Match
	Sticky  Toggle // connections of one source stay on the network of the first
	Timeout int    // for how long, in seconds; 0 leaves it to the CNF
}

// Proposal is a choice of algorithms for IPsec, by their names in strongSwan; "" leaves one open.
type Proposal struct{ Encryption, Hash, DHGroup string }

// Authentication is how the two sides of a tunnel authenticate each other. The zero value is none.
type Authentication uint8

// PreSharedKey uses a key that both have, PublicKey certificates.
const (
	PreSharedKey Authentication = iota + 1
	PublicKey
)

// Tunnel is an IPsec peer with the connections to it. Text is written as in the CRDs, which use strongSwan's syntax.
type Tunnel struct {
	Type              string // VTI-based or policy-based: a switch of the whole CNF; "" leaves it
	Remote            string // address or DNS name; %any accepts any peer
	Authentication    Authentication
	LocalID, RemoteID string
	Proposals         []DeviceRef // the preferred one first
	ForceProposals    Toggle
	Key               SecretValue // of PreSharedKey
	Certificate       SecretValue // of PublicKey; a Value is written as in the CRD, From is PEM; likewise the next two
	PrivateKey        SecretValue
	CA                SecretValue
	Connections       []Connection
}

// Connection is one connection of a tunnel.
type Connection struct {
	Name                         string // unique within the tunnel
	Transport                    bool   // carries the content of packets instead of whole ones
	Start                        string // start, add or route; "" means never
	LocalSubnet, LocalSource     string
	LocalUpDown, LocalFirewall   string
	RemoteSubnet, RemoteSource   string
	RemoteUpDown, RemoteFirewall string
	Proposals                    []DeviceRef // the preferred one first
	Mark                         string
}

// Tables of routes.
const (
	// TableMain is the usual one.
	TableMain = ""
	// TableCNF is the one that applications look up.
	TableCNF = "cnf"
)

// Route is a route of a CNF.
type Route struct {
	Dst   netip.Prefix // 0.0.0.0/0 means the default route
	Via   netip.Addr   // invalid is none
	Dev   Link
	Table string // TableMain or TableCNF
}

// RouteRule selects the packets that look up a table.
type RouteRule struct {
	Src, Dst netip.Prefix // invalid is any
	Not      bool         // applies to packets that do not match
	Priority int          // from 1, lowest first; 0 leaves it to the CNF
	Mark     string
	Table    string // name or number; "" is the main one
}

// Application makes packets from the endpoints of a set look up TableCNF.
type Application struct{ Sources SetID }

// DeviceKind returns DeviceWANPolicy.
func (*WANPolicy) DeviceKind() DeviceKind { return DeviceWANPolicy }

// DeviceKind returns DeviceWANRule.
func (*WANRule) DeviceKind() DeviceKind { return DeviceWANRule }

// DeviceKind returns DeviceProposal.
func (*Proposal) DeviceKind() DeviceKind { return DeviceProposal }

// DeviceKind returns DeviceTunnel.
func (*Tunnel) DeviceKind() DeviceKind { return DeviceTunnel }

// DeviceKind returns DeviceRoute.
func (*Route) DeviceKind() DeviceKind { return DeviceRoute }

// DeviceKind returns DeviceRouteRule.
func (*RouteRule) DeviceKind() DeviceKind { return DeviceRouteRule }

// DeviceKind returns DeviceApplication.
func (*Application) DeviceKind() DeviceKind { return DeviceApplication }
