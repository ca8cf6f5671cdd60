package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"

	"github.com/netloom/netloom/pkg/object"
)

// SetID names a set. It is a function of what the set means (canonical selectors and prefixes), never a counter.
type SetID string

// The two sets whose members are exactly the endpoints that some isolating policy selects in a direction. They always
// exist in a snapshot that has such a policy.
const (
	IsolatedIngress SetID = "isolated/ingress"
	IsolatedEgress  SetID = "isolated/egress"
)

// IsolatedSet returns the set of endpoints isolated in direction d.
func IsolatedSet(d Direction) SetID {
	if d == Egress {
		return IsolatedEgress
	}
	return IsolatedIngress
}

// The two sets whose members are the endpoints that some staged policy selects in a direction: their connections are to be reported, and
// nothing is decided about them. They exist in a snapshot that has such a policy. A target that cannot report connections ignores them.
const (
	StagedIngress SetID = "staged/ingress"
	StagedEgress  SetID = "staged/egress"
)

// StagedSet returns the set of endpoints that staged policies select in direction d.
func StagedSet(d Direction) SetID {
	if d == Egress {
		return StagedEgress
	}
	return StagedIngress
}

// SharedSet returns the set of all endpoints that policies of TierNetworkPolicy allow traffic in direction d with peer on ports, if
// several policies have such a rule. It is a function of what they allow, not of the policies.
func SharedSet(d Direction, peer Peer, ports Ports) SetID {
	text := make([]byte, 0, 128+len(peer.Set)) // at the start there is one for each rule and peer
	text = append(strconv.AppendUint(text, uint64(d), 10), ' ')
	text = append(strconv.AppendUint(text, uint64(peer.Kind), 10), ' ')
	text = append(append(text, peer.Set...), ' ')
	text = strconv.AppendBool(text, ports.Any)
	for _, r := range ports.Ranges {
		for _, n := range []uint64{uint64(r.Protocol), uint64(r.First), uint64(r.Last)} {
			text = strconv.AppendUint(append(text, ' '), n, 10)
		}
	}
	sum := sha256.Sum256(text)
	return SetID("shared/" + hex.EncodeToString(sum[:16]))
}

// Set is a group of endpoints and prefixes that policies name as subject or peer.
//
// The members of a set change from snapshot to snapshot under one ID; its prefixes do so only if it has Hosts.
type Set struct {
	ID      SetID
	Members Members // nil means no endpoint
	// UnionOf names the other sets of the snapshot that a composite set is the union of: it has their members. Nil means that the set has
	// members of its own. Changes list the other sets in place of it, so that a set that no target renders costs nothing when members
	// change. A composite set has neither Hosts nor Within.
	UnionOf  []SetID
	Prefixes []netip.Prefix // sorted, masked, disjoint; only sets used as peers have any
	// Hosts are the DNS names whose present addresses are among Prefixes, sorted. A target should render a set with Hosts in a
	// form that does not depend on which prefixes it has, so that an answer of DNS changes nothing but addresses.
	Hosts []string
	// Within, if not empty, narrows the members to their addresses inside these prefixes, which are sorted, masked and
	// disjoint too; only sets used as peers have it. Prefixes are not narrowed.
	Within []netip.Prefix
	Title  string // its display name, such as "pods app=web in shop"; without meaning for programs
}

// stored returns s in the form that a snapshot stores: a composite set has no Members, Snapshot.Set resolves them on demand.
func (s *Set) stored() *Set {
	if s.UnionOf == nil || s.Members == nil {
		return s
	}
	bare := *s
	bare.Members = nil
	return &bare
}

// Len counts the endpoints of s.
func (s *Set) Len() int {
	if s == nil || s.Members == nil {
		return 0
	}
	return s.Members.Len()
}

// Subjects counts the endpoints of s as reports do: the made-up ones of a workload as one. See object.Key.Subject.
func (s *Set) Subjects() int {
	if s.Len() == 0 {
		return 0
	}
	standIns, others := map[object.Key]bool{}, 0
	for e := range s.Members.All() {
		if e.Key.StandsIn() {
			standIns[e.Key.Subject()] = true
		} else {
			others++
		}
	}
	return len(standIns) + others
}

// HasKey reports whether the endpoint k is a member. Prefixes do not matter.
func (s *Set) HasKey(k object.Key) bool {
	return s != nil && s.Members != nil && s.Members.HasKey(k)
}

// Contains reports whether a is an address of a member or lies within a prefix of s. Nil contains nothing.
func (s *Set) Contains(a netip.Addr) bool {
	if s == nil {
		return false
	}
	if covers(s.Prefixes, a) {
		return true
	}
	return s.Members != nil && s.Counts(a) && s.Members.HasAddr(a)
}

// Counts reports whether an address of a member counts, see Within.
func (s *Set) Counts(a netip.Addr) bool {
	return len(s.Within) == 0 || covers(s.Within, a)
}

// Addrs lists the addresses of the members that count, each once, in order. It visits every member: backends use it for
// a set that they see for the first time, and deltas afterwards.
func (s *Set) Addrs() []netip.Addr {
	if s == nil || s.Members == nil {
		return nil
	}
	members := s.Members
	if u, ok := members.(unionMembers); ok {
		members = u.merged()
	}
	addrs := make([]netip.Addr, 0, members.Len())
	for e := range members.All() {
		for _, a := range e.Addrs {
			if s.Counts(a) {
				addrs = append(addrs, a)
			}
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.Compact(addrs)
}

// SubjectAddrs returns Addrs and the addresses that members share with other endpoints: those that count if s is a subject.
func (s *Set) SubjectAddrs() []netip.Addr {
	addrs := s.Addrs()
	if s == nil || s.Members == nil {
		return addrs
	}
	for e := range s.Members.All() {
		addrs = append(addrs, e.Shared...)
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.Compact(addrs)
}

// covers reports whether a lies within one of the prefixes, which are sorted, masked and disjoint: only the last that does
// not begin after a can contain it.
func covers(prefixes []netip.Prefix, a netip.Addr) bool {
	i, _ := slices.BinarySearchFunc(prefixes, a, func(p netip.Prefix, a netip.Addr) int {
		if p.Addr().Compare(a) <= 0 {
			return -1
		}
		return 1
	})
	return i > 0 && prefixes[i-1].Contains(a)
}
