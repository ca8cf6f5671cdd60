package lb

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// maxBackends is how many backends an address and port may have. A switch gets them as one group, in one OpenFlow message of up to 65,535
// bytes; each takes 80 with IPv4 and 96 with IPv6, and 16 more without SNAT (ovn-controller 23.03, encode_ct_lb). If a group does not fit,
// ovn-controller sends a message that the switch cannot read, loses its connection, and none of the groups of any load balancer is left on
// any node (measured: 818 with IPv4 work, 822 do not). The rest of the message is for what later versions add.
const maxBackends = 500

// crowd is the frontend of a load balancer with the most backends, if that is more than maxBackends. The zero value is for none.
type crowd struct {
	of   *intent.Frontend
	size int
}

// String describes the crowd to users.
func (c *crowd) String() string {
	return fmt.Sprintf("%s: %d of its %d backends are used, as many as OVN can install behind an address", c.of, maxBackends, c.size)
}

// admit returns the backends that a frontend gets, in order: those with the lowest hashes if there are too many, so that one that comes or
// goes changes no more than one, and none is preferred because its address is low.
func (c *crowd) admit(f *intent.Frontend, all []netip.AddrPort) []netip.AddrPort {
	if len(all) <= maxBackends {
		return all
	}
	if len(all) > c.size {
		c.of, c.size = f, len(all)
	}
	type hashed struct {
		netip.AddrPort
		hash uint64
	}
	list := make([]hashed, len(all))
	for i, a := range all {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, a) // a hash takes everything
		list[i] = hashed{a, h.Sum64()}
	}
	slices.SortFunc(list, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), a.Compare(b.AddrPort)) })
	out := make([]netip.AddrPort, maxBackends)
	for i := range out {
		out[i] = list[i].AddrPort
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return out
}

// joined formats backends for a VIP.
func joined(all []netip.AddrPort) string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = a.String()
	}
	return strings.Join(texts, ",")
}
