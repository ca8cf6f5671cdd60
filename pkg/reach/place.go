package reach

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// Place is one end of a connection.
type Place struct {
	Party intent.Party
	// Standing is the addresses outside that the place represents; the zero prefix if it is an endpoint's own address.
	Standing netip.Prefix
}

// String is the endpoint's name and address, or the prefix that p represents.
func (p Place) String() string {
	if p.Standing.IsValid() {
		return p.Standing.String()
	}
	return p.Party.Key.String() + " " + p.Party.Addr.String()
}

func (p Place) compare(o Place) int {
	if c := p.Party.Key.Compare(o.Party.Key); c != 0 {
		return c
	}
	if c := p.Party.Addr.Compare(o.Party.Addr); c != 0 {
		return c
	}
	return strings.Compare(p.Standing.String(), o.Standing.String())
}

// PlacesOf lists the addresses of endpoints as places, in order.
func PlacesOf(endpoints []intent.Endpoint) []Place {
	var out []Place
	for i := range endpoints {
		for _, a := range endpoints[i].Addrs {
			out = append(out, Place{Party: intent.Party{Key: endpoints[i].Key, Addr: a}})
		}
	}
	slices.SortFunc(out, Place.compare)
	return out
}

// Outside lists the places outside that the prefixes of policies distinguish: for each prefix that a rule names, and for
// all of a family, an address in it that no narrower one contains. A prefix that narrower ones fill has none. Addresses
// for which taken returns true, such as those of endpoints, are not outside and are skipped.
func Outside(taken func(netip.Addr) bool, snapshots ...*intent.Snapshot) []Place {
	var named []netip.Prefix
	for _, s := range snapshots {
		named = append(named, Prefixes(s)...)
	}
	return OutsideOf(taken, named)
}

// OutsideOf is Outside for a list of prefixes.
func OutsideOf(taken func(netip.Addr) bool, named []netip.Prefix) []Place {
	found := map[netip.Prefix]bool{
		netip.PrefixFrom(netip.IPv4Unspecified(), 0): true, netip.PrefixFrom(netip.IPv6Unspecified(), 0): true,
	}
	for _, p := range named {
		found[p] = true
	}
	all := slices.SortedFunc(maps.Keys(found), intent.ComparePrefixes)
	var out []Place
	for i, p := range all {
		if a, ok := spare(p, all[i+1:], taken); ok {
			out = append(out, Place{Party: intent.Party{Addr: a}, Standing: p})
		}
	}
	return out
}

// Standings lists the addresses outside that some of the places of all represent, as the fewest prefixes: those of each
// without those of narrower ones in all.
func Standings(all, some []Place) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range some {
		if !p.Standing.IsValid() {
			continue
		}
		var narrower []netip.Prefix
		for _, q := range all {
			if q.Standing.IsValid() && q.Standing.Bits() > p.Standing.Bits() && p.Standing.Contains(q.Standing.Addr()) {
				narrower = append(narrower, q.Standing)
			}
		}
		out = append(out, intent.SubtractPrefixes(p.Standing, narrower)...)
	}
	return intent.MergePrefixes(out)
}

// spare finds an address of p that is in none of the narrower prefixes and not taken. Those follow p in order.
func spare(p netip.Prefix, following []netip.Prefix, taken func(netip.Addr) bool) (netip.Addr, bool) {
	a := p.Addr()
	for _, n := range following {
		if !p.Contains(n.Addr()) {
			break
		}
		for ; a.IsValid() && a.Less(n.Addr()); a = a.Next() {
			if usable(a, taken) {
				return a, true
			}
		}
		if a.IsValid() && n.Contains(a) {
			a = lastOf(n).Next()
		}
	}
	for ; a.IsValid() && p.Contains(a); a = a.Next() {
		if usable(a, taken) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

func usable(a netip.Addr, taken func(netip.Addr) bool) bool { return !a.IsUnspecified() && !taken(a) }

// lastOf is the highest address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
