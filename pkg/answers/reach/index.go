package reach

import (
	"encoding/binary"
	"iter"
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
	byPrefix   map[netip.Prefix][]intent.SetID // the prefixes of peers
	bits       []prefixLength                  // that these have
	ofSubjects map[intent.SetID][]*intent.Policy
	around     map[intent.SetID]bool // the peers that lists name
	places     map[string]int        // by which of those contain a place: view.place
	lists      map[string]*ordered   // by key
	denying    bool                  // the system tier has rules that deny
}

// prefixLength is a number of bits of the prefixes of a family.
type prefixLength struct {
	is4  bool
	bits int
}

func newIndex(s *intent.Snapshot) *index {
	x := &index{
		snapshot: s, number: map[intent.SetID]int{}, bySubject: map[object.Key][]intent.SetID{},
		byAddr: map[netip.Addr][]intent.SetID{}, byPrefix: map[netip.Prefix][]intent.SetID{}, ofSubjects: map[intent.SetID][]*intent.Policy{},
		around: map[intent.SetID]bool{}, places: map[string]int{}, lists: map[string]*ordered{},
	}
	for p := range s.Ranked(intent.TierSystem) {
		x.denying = x.denying || slices.ContainsFunc(p.Rules, func(r intent.Rule) bool { return r.Action != intent.Allow })
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
				if p.Tier.Ordered() || p.Tier == intent.TierSystem && x.denying {
					x.around[r.Peer.Set] = true
				}
			}
		}
	}
	x.subjects, x.peers = slices.Sorted(maps.Keys(subjects)), slices.Sorted(maps.Keys(peers))
	for _, id := range x.subjects {
		x.eachMember(id, func(e intent.Endpoint) { x.bySubject[e.Key] = append(x.bySubject[e.Key], id) })
	}
	lengths := map[prefixLength]bool{}
	for i, id := range x.peers {
		x.number[id] = i
		set := s.Set(id)
		for _, a := range set.Addrs() {
			x.byAddr[a] = append(x.byAddr[a], id)
		}
		if set == nil {
			continue
		}
		for _, p := range set.Prefixes {
			x.byPrefix[p] = append(x.byPrefix[p], id)
			lengths[prefixLength{p.Addr().Is4(), p.Bits()}] = true
		}
	}
	x.bits = slices.Collect(maps.Keys(lengths))
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
	for _, l := range x.bits {
		if l.is4 == p.Addr.Is4() {
			prefix, _ := p.Addr.Prefix(l.bits) // as long as others of its family
			out = append(out, x.byPrefix[prefix]...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mark appends what distinguishes a role: those of equal marks are treated alike.
func (x *index) mark(b []byte, r Role) []byte {
	if !r.Exists {
		return append(b, 0)
	}
	p := r.Party
	b = append(b, 1)
	for _, list := range [][]intent.SetID{x.subjectsOf(p), x.peersOf(p)} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, id := range list {
			b = binary.AppendUvarint(b, uint64(x.number[id])) //nolint:gosec // an index
		}
	}
	return b
}

// view collects what the policies of a role's subjects say.
func (x *index) view(r Role) view {
	if !r.Exists {
		return x.absent()
	}
	return x.viewOf(x.subjectsOf(r.Party), x.peersOf(r.Party))
}

// placeOf numbers what places are in, of the peers that lists name.
func (x *index) placeOf(peers []intent.SetID) int {
	var at []byte
	for _, id := range peers {
		if x.around[id] {
			at = binary.AppendUvarint(at, uint64(x.number[id])) //nolint:gosec // an index
		}
	}
	place, known := x.places[string(at)]
	if !known {
		place = len(x.places)
		x.places[string(at)] = place
	}
	return place
}

// viewOf collects what the policies of subjects say, for a place in some sets of peers.
func (x *index) viewOf(subjects, peers []intent.SetID) view {
	v := view{sets: map[intent.SetID]bool{}, place: x.placeOf(peers)}
	for _, id := range peers {
		v.sets[id] = true
	}
	var around []*intent.Policy
	for _, id := range subjects {
		for _, policy := range x.ofSubjects[id] {
			if policy.Tier == intent.TierNetworkPolicy {
				v.sides[policy.Direction].add(policy, subjects)
			} else {
				around = append(around, policy)
			}
		}
	}
	x.surround(&v, around, subjects)
	for d := range v.sides {
		v.sides[d].simplify()
	}
	return v
}

// add adds the rules of a NetworkPolicy.
func (s *side) add(p *intent.Policy, subjects []intent.SetID) {
	s.bound = s.bound || p.Isolates
	for r := range stepsOf(p, subjects) {
		if r.action == intent.Allow {
			s.allow.add(r.set, r.ports)
		} else {
			s.deny.add(r.set, r.ports)
		}
	}
}

// surround adds the policies of other tiers.
func (x *index) surround(v *view, policies []*intent.Policy, subjects []intent.SetID) {
	if len(policies) == 0 {
		return
	}
	slices.SortFunc(policies, (*intent.Policy).Compare)
	var steps [2][]step
	for _, t := range intent.Tiers() {
		for _, p := range policies {
			switch d := p.Direction; {
			case p.Tier != t:
			case t == intent.TierSystem && !x.denying:
				for r := range stepsOf(p, subjects) {
					v.sides[d].always.add(r.set, r.ports)
				}
			default:
				steps[d] = slices.AppendSeq(steps[d], stepsOf(p, subjects))
			}
		}
	}
	for d := range steps {
		if len(steps[d]) > 0 {
			v.sides[d].around = x.list(steps[d])
		}
	}
}

// simplify makes one union of what is allowed if no rule denies.
func (s *side) simplify() {
	if s.around != nil || !s.deny.empty() {
		return
	}
	s.allow.add("", s.always.any)
	for set, t := range s.always.peers {
		s.allow.add(set, t)
	}
	s.always = rules{}
}

// list returns the list with these steps, the same for the same steps.
func (x *index) list(steps []step) *ordered {
	key := keyOf(steps)
	o := x.lists[key]
	if o == nil {
		o = &ordered{steps: steps, key: key}
		x.lists[key] = o
	}
	return o
}

// stepsOf yields the rules of a policy that match anything, for an endpoint of some subjects.
func stepsOf(p *intent.Policy, subjects []intent.SetID) iter.Seq[step] {
	return func(yield func(step) bool) {
		for i := range p.Rules {
			r := &p.Rules[i]
			s := step{tier: p.Tier, action: r.Action, ports: TrafficOf(r.Ports)}
			switch {
			case r.Peer.Kind == intent.PeerAny:
			case r.Peer.Kind == intent.PeerSet && r.Peer.Set != "":
				s.set = r.Peer.Set
			default:
				continue
			}
			if !s.ports.Empty() && (r.Subject == "" || slices.Contains(subjects, r.Subject)) && !yield(s) {
				return
			}
		}
	}
}
