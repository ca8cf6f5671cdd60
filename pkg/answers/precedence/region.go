package precedence

import (
	"net/netip"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
)

// The bounds of a region. A rule whose region would exceed them is not judged.
const (
	maxPieces   = 64
	maxPrefixes = 1024 // of a piece
)

// piece is some traffic of a rule: with the members of its peer set or, if there are prefixes, with those.
type piece struct {
	prefixes []netip.Prefix
	ports    reach.Traffic
}

// everywhere is all addresses.
func everywhere() []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
}

// prefixesOf returns the addresses that a peer matches whatever pods there are.
func prefixesOf(s *intent.Snapshot, p intent.Peer) []netip.Prefix {
	switch p.Kind {
	case intent.PeerAny:
		return everywhere()
	case intent.PeerSet:
		if set := s.Set(p.Set); set != nil {
			return set.Prefixes
		}
	case intent.PeerNone:
	}
	return nil
}

// piecesOf returns what a rule matches at present; none if that is nothing.
func (a *analysis) piecesOf(r *rule) []piece {
	ports := reach.TrafficOf(r.Ports)
	if ports.Empty() || len(a.subjects(r)) == 0 {
		return nil
	}
	var out []piece
	if prefixes := prefixesOf(a.snapshot, r.Peer); len(prefixes) > 0 {
		out = append(out, piece{prefixes, ports})
	}
	if r.Peer.Kind == intent.PeerSet && len(a.addrs(r.Peer.Set)) > 0 {
		out = append(out, piece{nil, ports})
	}
	return out
}

// without returns what a rule that applies to the same pods leaves of the pieces of r, and whether it takes any.
func (a *analysis) without(pieces []piece, r, by *rule) (rest []piece, took bool) {
	ports, blocks := reach.TrafficOf(by.Ports), prefixesOf(a.snapshot, by.Peer)
	for _, p := range pieces {
		if p.ports.Intersect(ports).Empty() {
			rest = append(rest, p)
			continue
		}
		left := piece{p.prefixes, p.ports.Minus(ports)}
		if p.prefixes == nil {
			if !a.holdsPeers(by.Peer, r.Peer) {
				left = p
			}
		} else {
			outside, fits := subtract(p.prefixes, blocks)
			common, fits2 := subtract(p.prefixes, outside)
			if !fits || !fits2 {
				a.incomplete = true
				return pieces, false
			}
			if len(outside) > 0 {
				rest = append(rest, piece{outside, p.ports})
			}
			if left.prefixes = common; len(common) == 0 {
				continue
			}
			took = true
		}
		took = took || !left.ports.Equal(p.ports)
		if !left.ports.Empty() {
			rest = append(rest, left)
		}
	}
	if len(rest) > maxPieces {
		a.incomplete = true
		return pieces, false
	}
	return rest, took
}

// subtract returns prefixes without others; false if the result is too long.
func subtract(prefixes, others []netip.Prefix) ([]netip.Prefix, bool) {
	var out []netip.Prefix
	for _, p := range prefixes {
		rest, fits := intent.SubtractAtMost(p, others, maxPrefixes-len(out))
		if !fits {
			return nil, false
		}
		out = append(out, rest...)
	}
	return out, true
}

// touches reports whether a rule for some of the same pods matches anything of the pieces of r.
func (a *analysis) touches(pieces []piece, r, by *rule) bool {
	ports, blocks := reach.TrafficOf(by.Ports), prefixesOf(a.snapshot, by.Peer)
	for _, p := range pieces {
		if p.ports.Intersect(ports).Empty() {
			continue
		}
		if p.prefixes == nil {
			if a.sharesPeers(by.Peer, r.Peer) {
				return true
			}
			continue
		}
		for _, x := range p.prefixes {
			for _, y := range blocks {
				if a.spend(1); x.Overlaps(y) {
					return true
				}
			}
			if by.Peer.Kind != intent.PeerSet {
				continue
			}
			for _, addr := range a.addrs(by.Peer.Set) {
				if a.spend(1); x.Contains(addr) {
					return true
				}
			}
		}
	}
	return false
}
