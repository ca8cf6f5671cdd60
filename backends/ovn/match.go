package ovn

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// inlinePrefixes is how many prefixes of a family are written into a match instead of into an address set of their own.
// It makes no difference to the data plane, saves a row, and keeps the match readable.
const inlinePrefixes = 4

// side formats the two ends of a match in one direction.
type side struct{ port, address string }

func sideOf(d intent.Direction) side {
	if d == intent.Egress {
		return side{port: "inport", address: "dst"}
	}
	return side{port: "outport", address: "src"}
}

// subjectMatch returns the part of a match that names the subject.
func subjectMatch(d intent.Direction, group string) string {
	return sideOf(d).port + " == @" + group
}

// portMatches returns one expression for each protocol of p, or just "" for any traffic.
func portMatches(p intent.Ports) []string {
	if p.Any {
		return []string{""}
	}
	var out []string
	for i := 0; i < len(p.Ranges); {
		j := i
		for j < len(p.Ranges) && p.Ranges[j].Protocol == p.Ranges[i].Protocol {
			j++
		}
		out = append(out, nb.MatchPorts(p.Ranges[i:j]))
		i = j
	}
	return out
}

// peerMatch is one way to name the addresses of a peer.
type peerMatch struct {
	expr   string
	set    intent.SetID    // the address set that expr refers to; "" for none
	family intent.Families // of that address set
}

// peerMatches names a peer, one match for each address family that it can have addresses of: those of the cluster if
// the set has members, those of its prefixes, and both if it has DNS names.
func peerMatches(names nb.Namer, want *intent.Snapshot, d intent.Direction, p intent.Peer) []peerMatch {
	switch p.Kind {
	case intent.PeerAny:
		return []peerMatch{{}}
	case intent.PeerSet:
		return setMatches(names, want.Families(), d, want.Set(p.Set))
	case intent.PeerNone:
		return nil
	}
	return nil
}

func setMatches(names nb.Namer, cluster intent.Families, d intent.Direction, set *intent.Set) []peerMatch {
	if set == nil {
		return nil
	}
	var out []peerMatch
	for _, f := range []intent.Families{intent.IPv4, intent.IPv6} {
		prefixes := ofFamily(set.Prefixes, f)
		members := set.Members != nil && cluster.Has(f) || len(set.Hosts) > 0 // an address set, which may be empty at times
		field := nb.AddressField(f, sideOf(d).address)
		switch {
		case !members && len(prefixes) == 0:
		case !members && len(prefixes) <= inlinePrefixes:
			out = append(out, peerMatch{expr: nb.MatchAny(field, prefixesOf(set, f))})
		default:
			out = append(out, peerMatch{expr: field + " == $" + names.AddressSet(set.ID, f), set: set.ID, family: f})
		}
	}
	return out
}

// prefixesOf renders the prefixes of one family as OVN does: just the address if the prefix contains no other.
func prefixesOf(set *intent.Set, f intent.Families) []string {
	var out []string
	for _, p := range ofFamily(set.Prefixes, f) {
		out = append(out, nb.PrefixText(p))
	}
	return out
}

// ofFamily returns the prefixes of one family, of a list in which those of IPv4 come first.
func ofFamily(prefixes []netip.Prefix, f intent.Families) []netip.Prefix {
	first6, _ := slices.BinarySearchFunc(prefixes, true, func(p netip.Prefix, _ bool) int {
		if p.Addr().Is4() {
			return -1
		}
		return 0
	})
	if f == intent.IPv4 {
		return prefixes[:first6]
	}
	return prefixes[first6:]
}

// lists reports whether a prefix of a set is just that address.
func lists(set *intent.Set, a netip.Addr) bool {
	_, found := slices.BinarySearchFunc(set.Prefixes, netip.PrefixFrom(a, a.BitLen()), intent.ComparePrefixes)
	return found
}
