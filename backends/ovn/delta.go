package ovn

import (
	"net/netip"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// delta is the net effect of several membership changes of one set.
type delta struct {
	keys  map[object.Key]bool // true joined, false left
	addrs map[netip.Addr]bool // true came, false went
}

func newDelta() *delta {
	return &delta{keys: map[object.Key]bool{}, addrs: map[netip.Addr]bool{}}
}

// add takes one more change, later than those before. An endpoint that left and joined again, with other addresses say,
// has the ports it had.
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
}

func net[K comparable](m map[K]bool, k K, came bool) {
	if was, ok := m[k]; ok && was != came {
		delete(m, k)
		return
	}
	m[k] = came
}

// addresses spells the addresses of one family that came and went.
func (d *delta) addresses(f intent.Families) (add, remove []string) {
	for a, came := range d.addrs {
		switch {
		case intent.FamilyOf(a) != f:
		case came:
			add = append(add, a.String())
		default:
			remove = append(remove, a.String())
		}
	}
	return add, remove
}
