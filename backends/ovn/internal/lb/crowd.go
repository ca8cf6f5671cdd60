package lb

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
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

// admit returns the backends that a frontend gets, in order: those with the lowest hashes if there are too many, so that one that comes or
// goes changes no more than one, and none is preferred because its address is low.
func (c *crowd) admit(f *intent.Frontend, all []netip.AddrPort) []netip.AddrPort {
	if len(all) <= maxBackends {
		return all
	}
	c.note(f, len(all))
	lowest := make([]ranked, 0, maxBackends+1)
	for _, a := range all {
		r := ranked{rankOf(a), a}
		if len(lowest) == maxBackends && r.compare(lowest[maxBackends-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(lowest, r, ranked.compare)
		lowest = slices.Insert(lowest, at, r)
		lowest = lowest[:min(len(lowest), maxBackends)]
	}
	out := make([]netip.AddrPort, len(lowest))
	for i := range lowest {
		out[i] = lowest[i].addr
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return out
}

// ranked is a backend with its hash.
type ranked struct {
	rank uint64
	addr netip.AddrPort
}

func (r ranked) compare(o ranked) int {
	return cmp.Or(cmp.Compare(r.rank, o.rank), r.addr.Compare(o.addr))
}

// rankOf is the FNV-1a hash of an address and port: package hash/fnv would allocate for each.
func rankOf(a netip.AddrPort) uint64 {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for _, b := range a.Addr().As16() {
		add(b)
	}
	add(byte(a.Port() >> 8 & 0xff))
	add(byte(a.Port() & 0xff))
	return h
}

// joined formats backends for a VIP.
func joined(all []netip.AddrPort) string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = a.String()
	}
	return strings.Join(texts, ",")
}
