package tungsten

import "net/netip"

// addresses are those of a virtual network.
type addresses struct {
	subnets []*addressSubnet
	taken   map[netip.Addr]bool
}

type addressSubnet struct {
	prefix netip.Prefix
	uuid   string
	next   netip.Addr // the highest that was never taken
}

// last is the highest address of a prefix.
func last(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// take returns an address: the wanted one if it is valid, else the highest that was never taken. The second result is the UUID of
// its subnet, "" if no subnet has such an address.
func (a *addresses) take(want netip.Addr) (addr netip.Addr, subnet string, free bool) {
	for _, s := range a.subnets {
		if want.IsValid() {
			if s.prefix.Contains(want) {
				free = !a.taken[want]
				a.taken[want] = true
				return want, s.uuid, free
			}
			continue
		}
		for s.prefix.Contains(s.next) && s.next != s.prefix.Addr() {
			addr = s.next
			s.next = addr.Prev()
			if !a.taken[addr] {
				a.taken[addr] = true
				return addr, s.uuid, true
			}
		}
	}
	return netip.Addr{}, "", false
}
