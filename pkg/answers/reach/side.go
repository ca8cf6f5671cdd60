package reach

import (
	"net/netip"

	"github.com/netloom/netloom/pkg/intent"
)

// Side is what c allows with a peer of the same family in one direction, under the n-th snapshot: half of Traffic.
func (c *Class) Side(n int, d intent.Direction, peer *Class) Traffic {
	if c.Family != peer.Family {
		return Traffic{}
	}
	return c.views[n].allows(d, &peer.views[n])
}

// Prefixes lists the prefixes that policies of a snapshot name, in no order.
func Prefixes(s *intent.Snapshot) []netip.Prefix {
	var out []netip.Prefix
	for set := range s.Sets() {
		out = append(append(out, set.Prefixes...), set.Within...)
	}
	return out
}
