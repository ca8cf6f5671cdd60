package intent

import (
	"iter"
	"net/netip"

	"github.com/netloom/netloom/pkg/object"
)

// Endpoint is something that has addresses and can be the subject of a policy: a pod with its own network. It is
// read-only: the slices are shared.
type Endpoint struct {
	Key   object.Key
	Addrs []netip.Addr // every address that belongs to the endpoint, unmapped and without zone; empty while none is known
	// Shared are addresses that other endpoints have as well, so it is unknown whose packets they are. They are isolated
	// like any other, but do not count as addresses of a peer. None of them is in Addrs.
	Shared []netip.Addr
	Node   string // where it runs; "" if unknown
}

// Members is the endpoints that belong to a set at one revision. It is immutable and safe for concurrent use.
type Members interface {
	// Len counts the endpoints.
	Len() int
	// All yields each endpoint once, in no particular order.
	All() iter.Seq[Endpoint]
	// HasKey reports whether the endpoint k is a member.
	HasKey(k object.Key) bool
	// HasAddr reports whether some member has a.
	HasAddr(a netip.Addr) bool
	// HasSharedAddr reports whether a is among the shared addresses of some member.
	HasSharedAddr(a netip.Addr) bool
}
