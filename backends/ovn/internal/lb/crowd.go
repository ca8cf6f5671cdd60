package lb

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// maxBackends is how many backends an address and port may have. A switch gets them as one group, in one OpenFlow message of up to 65,535
// bytes; each takes 80 with IPv4, and by the encoding 96 with IPv6, and 16 more without SNAT (OVN 23.03). If a group does not fit,
// ovn-controller sends a message that the switch cannot read, loses its connection, and none of the groups of any load balancer is left on
// any node (measured: 818 with IPv4 work, 822 do not). The rest of the message is for what later versions add.
const maxBackends = 500

// crowd is the frontend of a load balancer with the most backends, if that is more than maxBackends. The zero value is for none.
type crowd struct {
	of   *intent.Frontend
	size int
}

// note takes the number of backends that a frontend has.
func (c *crowd) note(f *intent.Frontend, size int) {
	if size > maxBackends && size > c.size {
		c.of, c.size = f, size
	}
}

// skips reports the crowd; nothing if there is none.
func (c *crowd) skips(lb *intent.LoadBalancer) []backends.Skip {
	if c.size == 0 {
		return nil
	}
	return []backends.Skip{{Intent: string(lb.ID), Reason: fmt.Sprintf(
		"%s: %d of its %d backends are used: with too many behind an address and port, OVN can install none", c.of, maxBackends, c.size)}}
}

// admit returns the backends that a frontend gets, in order: some of them if there are too many.
func (c *crowd) admit(f *intent.Frontend, all intent.Backends) []netip.AddrPort {
	c.note(f, all.Len())
	some := all.Some(maxBackends)
	out := make([]netip.AddrPort, 0, len(some))
	for _, b := range some {
		if b.Addr.Is4() == f.Addr.Is4() {
			out = append(out, b.AddrPort())
		}
	}
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
