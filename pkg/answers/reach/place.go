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

// Compare orders places: those outside first, endpoints by key, then by address.
func (p Place) Compare(o Place) int {
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
	slices.SortFunc(out, Place.Compare)
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

// Areas are the addresses outside that places represent, by place: its prefix without the narrower prefixes of others.
type Areas map[Place][]netip.Prefix

// AreasOf returns the areas of those of some places that are outside.
func AreasOf(places []Place) Areas {
	outside := slices.DeleteFunc(slices.Clone(places), func(p Place) bool { return !p.Standing.IsValid() })
	slices.SortFunc(outside, func(p, q Place) int { return intent.ComparePrefixes(p.Standing, q.Standing) })
	out := make(Areas, len(outside))
	for i, p := range outside {
		var narrower []netip.Prefix
		for _, q := range outside[i+1:] { // in order, what p contains follows it
			if !p.Standing.Contains(q.Standing.Addr()) {
				break
			}
			if n := len(narrower); q.Standing != p.Standing && (n == 0 || !narrower[n-1].Contains(q.Standing.Addr())) {
				narrower = append(narrower, q.Standing)
			}
		}
		out[p] = intent.SubtractPrefixes(p.Standing, narrower)
	}
	return out
}

// Of lists what some of the places represent, as the fewest prefixes.
func (a Areas) Of(places []Place) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range places {
		out = append(out, a[p]...)
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
