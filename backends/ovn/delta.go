package ovn

import (
	"net/netip"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// delta is the net effect of several membership changes of one set.
type delta struct {
	keys     map[object.Key]bool   // true joined, false left
	addrs    map[netip.Addr]bool   // true added, false removed
	prefixes map[netip.Prefix]bool // the same
}

func newDelta() *delta {
	return &delta{keys: map[object.Key]bool{}, addrs: map[netip.Addr]bool{}, prefixes: map[netip.Prefix]bool{}}
}

// add adds one more change, later than those before. An endpoint that left and joined again, for example with other
// addresses, has the same ports.
func (d *delta) add(s *intent.SetDelta) {
	for i := range s.Left {
		net(d.keys, s.Left[i].Key, false)
	}
	for i := range s.Joined {
		net(d.keys, s.Joined[i].Key, true)
	}
	for _, a := range s.AddrsRemoved {
		net(d.addrs, a, false)
	}
	for _, a := range s.AddrsAdded {
		net(d.addrs, a, true)
	}
	for _, p := range s.PrefixesRemoved {
		net(d.prefixes, p, false)
	}
	for _, p := range s.PrefixesAdded {
		net(d.prefixes, p, true)
	}
}

func net[K comparable](m map[K]bool, k K, came bool) {
	if was, ok := m[k]; ok && was != came {
		delete(m, k)
		return
	}
	m[k] = came
}

// addresses formats the addresses of one family that were added and removed. Those that the set lists stay, whether or not a member
// has the same.
func (d *delta) addresses(set *intent.Set, f intent.Families) (add, remove []string) {
	for a, came := range d.addrs {
		switch {
		case intent.FamilyOf(a) != f || lists(set, a):
		case came:
			add = append(add, a.String())
		default:
			remove = append(remove, a.String())
		}
	}
	return add, remove
}

// listing formats the prefixes of one family that were added and removed. An address that a member also has stays.
func (d *delta) listing(set *intent.Set, f intent.Families) (add, remove []string) {
	for p, came := range d.prefixes {
		held := p.IsSingleIP() && set.Members != nil && set.Counts(p.Addr()) && set.Members.HasAddr(p.Addr())
		switch {
		case intent.FamilyOf(p.Addr()) != f:
		case came:
			add = append(add, nb.PrefixText(p))
		case !held:
			remove = append(remove, nb.PrefixText(p))
		}
	}
	return add, remove
}
