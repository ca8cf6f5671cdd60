package labelcache

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// Protocol is an IANA protocol number.
type Protocol uint8

// The protocols that have ports in a NetworkPolicy.
const (
	TCP  Protocol = 6
	UDP  Protocol = 17
	SCTP Protocol = 132
)

// String returns the protocol's lower-case name.
func (p Protocol) String() string {
	switch p {
	case TCP:
		return "tcp"
	case UDP:
		return "udp"
	case SCTP:
		return "sctp"
	default:
		return fmt.Sprintf("protocol(%d)", uint8(p))
	}
}

// NamedPort is a port that an endpoint declares under a name.
type NamedPort struct {
	Name     string
	Protocol Protocol
	Number   uint16
}

// Endpoint is something that has labels and addresses: a pod with its own network.
//
// It is read-only once it is in a cache, and so are its map and slices: views refer to them. Addresses are unmapped and
// without zone. An endpoint that no longer has traffic, such as a finished pod, does not belong here.
type Endpoint struct {
	Key    object.Key
	Labels map[string]string
	Addrs  []netip.Addr
	// Shared are addresses that other endpoints have as well. They do not count as addresses of a set; see
	// Members.HasSharedAddr.
	Shared []netip.Addr
	Ports  []NamedPort // in the order of declaration
	Node   string      // where it runs; "" when unknown
	// Opaque means that the labels and ports are not known: no term selects it, except for those of opaque endpoints.
	Opaque bool

	numbers map[PortMatch]uint16 // of Ports, by name and protocol; nil if comparing the few ports is as quick
}

// manyPorts is the number of ports from which an endpoint in a cache has an index of them.
const manyPorts = 16

// index makes Number fast however many ports e declares: each term that selects a port looks one up.
func (e *Endpoint) index() {
	if len(e.Ports) < manyPorts {
		return
	}
	e.numbers = make(map[PortMatch]uint16, len(e.Ports))
	for _, p := range e.Ports {
		k := PortMatch{Name: p.Name, Protocol: p.Protocol}
		if _, declared := e.numbers[k]; !declared {
			e.numbers[k] = p.Number
		}
	}
}

// AllAddrs lists the addresses that only e has, and then those that it shares.
func (e *Endpoint) AllAddrs() []netip.Addr {
	if len(e.Shared) == 0 {
		return e.Addrs
	}
	return slices.Concat(e.Addrs, e.Shared)
}

// Number resolves the port that e declares under a name and protocol. If there are several, it returns the first.
func (e *Endpoint) Number(name string, p Protocol) (uint16, bool) {
	if e.numbers != nil {
		n, ok := e.numbers[PortMatch{Name: name, Protocol: p}]
		return n, ok
	}
	for i := range e.Ports {
		if e.Ports[i].Protocol == p && e.Ports[i].Name == name {
			return e.Ports[i].Number, true
		}
	}
	return 0, false
}

// moved reports whether readers of sets have to treat b as an endpoint other than a.
func moved(a, b *Endpoint) bool {
	return a.Node != b.Node || !slices.Equal(a.Addrs, b.Addrs) || !slices.Equal(a.Shared, b.Shared)
}
