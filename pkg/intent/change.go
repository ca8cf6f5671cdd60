package intent

import (
	"net/netip"
	"slices"
)

// Revision numbers snapshots of one process, upwards from 1. Zero is before the first.
type Revision uint64

// Change is the difference between two snapshots.
type Change struct {
	Sets     []SetID    // created, dropped, or now the union of other sets: look them up to tell which
	Members  []SetDelta // of sets that existed before and still exist
	Policies []PolicyID // created, rewritten or dropped
	Families bool       // Snapshot.Families differs: everything that depends on it has to be checked

	LoadBalancers []LoadBalancerID // created, rewritten or dropped
	Nodes         []string         // names of nodes created, rewritten or dropped
	CNFs          []CNFID          // created, rewritten or dropped
	DeviceIntents []DeviceIntentID // device intents created, rewritten or dropped
	Unknown       bool             // Snapshot.Unknown differs: everything of such an area has to be checked
	Ahead         bool             // Snapshot.Ahead differs
}

// empty reports whether nothing changed.
func (c *Change) empty() bool {
	return len(c.Sets)+len(c.Members)+len(c.Policies)+len(c.LoadBalancers)+len(c.Nodes)+len(c.CNFs)+len(c.DeviceIntents) == 0 &&
		!c.Families && !c.Unknown && !c.Ahead
}

// weight returns how many endpoints, addresses, load balancers and device intents c lists, which is what it costs to
// remember.
func (c *Change) weight() int {
	n := 1 + len(c.LoadBalancers) + len(c.Nodes) + len(c.CNFs) + len(c.DeviceIntents)
	for i := range c.Members {
		n += c.Members[i].weight()
	}
	return n
}

// SetDelta is what one membership change did to a set.
type SetDelta struct {
	ID     SetID
	Joined []Endpoint
	Left   []Endpoint // as they were
	// AddrsAdded and AddrsRemoved are the effect on the addresses of the set: an address that another member still has
	// is not removed, one that a member already had is not added. Addresses outside Set.Within are not included.
	AddrsAdded   []netip.Addr
	AddrsRemoved []netip.Addr
	// PrefixesAdded and PrefixesRemoved are those that only the new and only the old Set.Prefixes lists. A prefix may be replaced by
	// others that cover the same addresses.
	PrefixesAdded   []netip.Prefix
	PrefixesRemoved []netip.Prefix
}

// weight counts the endpoints, addresses and prefixes that d lists.
func (d *SetDelta) weight() int {
	return len(d.Joined) + len(d.Left) + len(d.AddrsAdded) + len(d.AddrsRemoved) + len(d.PrefixesAdded) + len(d.PrefixesRemoved)
}

// setPrefixes records that the prefixes of a set were old and are now.
func (d *SetDelta) setPrefixes(old, now []netip.Prefix) {
	d.PrefixesAdded, d.PrefixesRemoved = missingPrefixes(now, old), missingPrefixes(old, now)
}

// missingPrefixes lists the prefixes of a sorted list that another does not have.
func missingPrefixes(list, other []netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range list {
		if _, has := slices.BinarySearchFunc(other, p, ComparePrefixes); !has {
			out = append(out, p)
		}
	}
	return out
}

// Families is a set of IP address families.
type Families uint8

// The two families.
const (
	IPv4 Families = 1 << iota
	IPv6
)

// Has reports whether every family of g is in f.
func (f Families) Has(g Families) bool { return f&g == g }

// FamilyOf returns the family of a; an IPv4-mapped address is IPv6 here and must be unmapped before.
func FamilyOf(a netip.Addr) Families {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}
