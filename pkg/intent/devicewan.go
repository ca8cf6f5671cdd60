package intent

import "net/netip"

// WANPolicy says over which networks traffic leaves.
type WANPolicy struct{ Members []WANMember }

// WANMember is a network of a WANPolicy. Those of the lowest metric are used, in proportion to their weights.
type WANMember struct {
	Network string // name, see CNF.Networks
	Metric  int    // from 1
	Weight  int    // from 1
}

// WANRule says which traffic follows which policy. Match has no marks, ICMP types or hardware addresses.
type WANRule struct {
	Policy  DeviceRef
	Match   Match
	Sticky  Toggle // connections of one source keep to the network that the first took
	Timeout int    // for how long, in seconds; 0 leaves it to the CNF
}

// Proposal is a choice of algorithms of IPsec, by strongSwan's words; "" leaves one open.
type Proposal struct{ Encryption, Hash, DHGroup string }

// Authentication is how the two sides of a tunnel know each other. The zero value is none.
type Authentication uint8

// PreSharedKey is by a key that both have, PublicKey by certificates.
const (
	PreSharedKey Authentication = iota + 1
	PublicKey
)

// Tunnel is a peer of IPsec with the connections to it. Text is spelled as in the CRDs, which is strongSwan's spelling.
type Tunnel struct {
	Type              string // VTI-based or policy-based: a switch of the whole CNF; "" leaves it
	Remote            string // address or DNS name; %any waits for whoever comes
	Authentication    Authentication
	LocalID, RemoteID string
	Proposals         []DeviceRef // the preferred one first
	ForceProposals    Toggle
	Key               SecretValue // of PreSharedKey
	Certificate       SecretValue // of PublicKey; a Value is spelled as in the CRD, From is PEM; likewise the next two
	PrivateKey        SecretValue
	CA                SecretValue
	Connections       []Connection
}

// Connection is what one tunnel carries.
type Connection struct {
	Name                         string // among those of the tunnel
	Transport                    bool   // carries the content of packets instead of whole ones
	Start                        string // start, add or route; "" is never
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
	Dst   netip.Prefix // 0.0.0.0/0 is the default route
	Via   netip.Addr   // invalid is none
	Dev   Link
	Table string // TableMain or TableCNF
}

// RouteRule says which packets look up which table.
type RouteRule struct {
	Src, Dst netip.Prefix // invalid is any
	Not      bool         // packets that do not match look it up
	Priority int          // from 1, the lowest first; 0 leaves it to the CNF
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
