package reach

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// index finds the sets of a snapshot that contain a party: subjects of policies and rules, by its key, and peers of
// rules, by its address.
type index struct {
	snapshot   *intent.Snapshot
	subjects   []intent.SetID
	peers      []intent.SetID
	number     map[intent.SetID]int // its index in subjects or peers, for marks
	bySubject  map[object.Key][]intent.SetID
	byAddr     map[netip.Addr][]intent.SetID
	prefixed   []prefixed // the prefixes of peers
	ofSubjects map[intent.SetID][]*intent.Policy
}

// prefixed is a list of prefixes with the sets that have it: rules often name the same blocks.
type prefixed struct {
	prefixes []netip.Prefix
	sets     []intent.SetID
}

func newIndex(s *intent.Snapshot) *index {
	x := &index{
		snapshot: s, number: map[intent.SetID]int{}, bySubject: map[object.Key][]intent.SetID{},
		byAddr: map[netip.Addr][]intent.SetID{}, ofSubjects: map[intent.SetID][]*intent.Policy{},
	}
	subjects, peers := map[intent.SetID]bool{}, map[intent.SetID]bool{}
	for p := range s.Policies() {
		subjects[p.Subject] = true
		x.ofSubjects[p.Subject] = append(x.ofSubjects[p.Subject], p)
		for i := range p.Rules {
			if r := &p.Rules[i]; r.Subject != "" {
				subjects[r.Subject] = true
			}
			if r := &p.Rules[i]; r.Peer.Kind == intent.PeerSet {
				peers[r.Peer.Set] = true
			}
		}
	}
	x.subjects, x.peers = slices.Sorted(maps.Keys(subjects)), slices.Sorted(maps.Keys(peers))
	for _, id := range x.subjects {
		x.eachMember(id, func(e intent.Endpoint) { x.bySubject[e.Key] = append(x.bySubject[e.Key], id) })
	}
	lists := map[string]int{}
	for i, id := range x.peers {
		x.number[id] = i
		set := s.Set(id)
		for _, a := range set.Addrs() {
			x.byAddr[a] = append(x.byAddr[a], id)
		}
		if set != nil && len(set.Prefixes) > 0 {
			list := fmt.Sprint(set.Prefixes)
			n, known := lists[list]
			if !known {
				n = len(x.prefixed)
				lists[list], x.prefixed = n, append(x.prefixed, prefixed{prefixes: set.Prefixes})
			}
			x.prefixed[n].sets = append(x.prefixed[n].sets, id)
		}
	}
	for i, id := range x.subjects {
		if _, also := x.number[id]; !also {
			x.number[id] = len(x.peers) + i
		}
	}
	return x
}

func (x *index) eachMember(id intent.SetID, do func(intent.Endpoint)) {
	set := x.snapshot.Set(id)
	if set == nil || set.Members == nil {
		return
	}
	for e := range set.Members.All() {
		do(e)
	}
}

// subjectsOf lists the subject sets a party is in, in order.
func (x *index) subjectsOf(p intent.Party) []intent.SetID {
	if p.Key != (object.Key{}) {
		return x.bySubject[p.Key]
	}
	return nil
}

// peersOf lists the peer sets that contain a party's address, in order.
func (x *index) peersOf(p intent.Party) []intent.SetID {
	out := slices.Clone(x.byAddr[p.Addr])
	for i := range x.prefixed {
		if slices.ContainsFunc(x.prefixed[i].prefixes, func(prefix netip.Prefix) bool { return prefix.Contains(p.Addr) }) {
			out = append(out, x.prefixed[i].sets...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mark appends what distinguishes p: parties of equal marks are treated alike.
func (x *index) mark(b []byte, p intent.Party) []byte {
	for _, list := range [][]intent.SetID{x.subjectsOf(p), x.peersOf(p)} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, id := range list {
			b = binary.AppendUvarint(b, uint64(x.number[id])) //nolint:gosec // an index
		}
	}
	return b
}

// view collects what the policies of p's subjects allow.
func (x *index) view(p intent.Party) view {
	v := view{sets: map[intent.SetID]bool{}}
	for _, id := range x.peersOf(p) {
		v.sets[id] = true
	}
	subjects := x.subjectsOf(p)
	for _, id := range subjects {
		for _, policy := range x.ofSubjects[id] {
			v.add(policy, subjects)
		}
	}
	return v
}

func (v *view) add(p *intent.Policy, subjects []intent.SetID) {
	v.bound[p.Direction] = v.bound[p.Direction] || p.Isolates
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.Action != intent.Allow || r.Subject != "" && !slices.Contains(subjects, r.Subject) {
			continue
		}
		switch r.Peer.Kind {
		case intent.PeerAny:
			v.any[p.Direction] = v.any[p.Direction].Union(trafficOf(r.Ports))
		case intent.PeerSet:
			if v.peers[p.Direction] == nil {
				v.peers[p.Direction] = map[intent.SetID]Traffic{}
			}
			v.peers[p.Direction][r.Peer.Set] = v.peers[p.Direction][r.Peer.Set].Union(trafficOf(r.Ports))
		case intent.PeerNone:
		}
	}
}
