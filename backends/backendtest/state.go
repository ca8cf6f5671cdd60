package backendtest

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// State is the content of a snapshot as plain data. The isolated sets follow from the policies and are not in Sets.
type State struct {
	Endpoints []intent.Endpoint
	Sets      []SetSpec
	Policies  []intent.Policy
	Staged    bool // staged policies select endpoints: see staged

	LoadBalancers []intent.LoadBalancer
	Nodes         []intent.Node
	CNFs          []*intent.CNF
}

// SetSpec is a set of a State: its members by key.
type SetSpec struct {
	ID       intent.SetID
	Keys     []object.Key
	Prefixes []netip.Prefix
	Hosts    []string // then the prefixes may change under the same ID
	Bare     bool     // endpoints are never members
	Within   []netip.Prefix
}

// Snapshot builds s from nothing, in one revision.
func (s *State) Snapshot() *intent.Snapshot { return Advance(intent.NewSnapshot(), s) }

// Advance builds the successor of from with the content of s. The change records only what differs.
func Advance(from *intent.Snapshot, s *State) *intent.Snapshot { return advance(from, s, nil) }

// advance does what Advance does, in an order that shuffle decides; nil keeps that of s.
func advance(from *intent.Snapshot, s *State, shuffle *rand.Rand) *intent.Snapshot {
	b := from.Next()
	b.SetFamilies(s.families())
	sets, policies := s.sets(), slices.Clone(s.Policies)
	if shuffle != nil {
		shuffle.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
		shuffle.Shuffle(len(policies), func(i, j int) { policies[i], policies[j] = policies[j], policies[i] })
	}
	advanceBalancers(b, from, s, shuffle)
	advanceCNFs(b, from, s)
	wanted := make(map[string]bool)
	for _, set := range sets {
		wanted["set "+string(set.ID)] = true
		advanceSet(b, from.Set(set.ID), set)
	}
	for i := range policies {
		p := &policies[i]
		wanted["policy "+string(p.ID)] = true
		if old := from.Policy(p.ID); old == nil || !reflect.DeepEqual(old, p) {
			b.PutPolicy(p)
		}
	}
	for p := range from.Policies() {
		if !wanted["policy "+string(p.ID)] {
			b.DropPolicy(p.ID)
		}
	}
	for set := range from.Sets() {
		if !wanted["set "+string(set.ID)] {
			b.DropSet(set.ID)
		}
	}
	return b.Commit()
}

func advanceSet(b *intent.Builder, old, set *intent.Set) {
	switch {
	case old == nil:
		b.CreateSet(set)
	case len(set.Hosts) == 0 && !slices.Equal(old.Prefixes, set.Prefixes) || !slices.Equal(old.Within, set.Within):
		b.DropSet(old.ID)
		b.CreateSet(set)
	default:
		b.UpdatePrefixes(set.ID, set.Prefixes)
		if d := Delta(old, set); len(d.Joined)+len(d.Left) > 0 {
			b.UpdateMembers(set.Members, d)
		}
	}
}

// Delta returns the changes that turn the members of old into those of next. An endpoint that is in both but differs is
// removed as it was and added as it is.
func Delta(old, next *intent.Set) intent.SetDelta {
	d := intent.SetDelta{ID: next.ID}
	before, after := endpoints(old), endpoints(next)
	for _, k := range sortedKeys(before) {
		if e, stays := after[k]; !stays || !reflect.DeepEqual(before[k], e) {
			d.Left = append(d.Left, before[k])
		}
	}
	for _, k := range sortedKeys(after) {
		if e, was := before[k]; !was || !reflect.DeepEqual(after[k], e) {
			d.Joined = append(d.Joined, after[k])
		}
	}
	d.AddrsAdded = missing(d.Joined, old)
	d.AddrsRemoved = missing(d.Left, next)
	return d
}

// missing lists the addresses of endpoints that set counts and that none of its members has.
func missing(list []intent.Endpoint, set *intent.Set) []netip.Addr {
	found := make(map[netip.Addr]bool)
	for _, e := range list {
		for _, a := range e.Addrs {
			if set.Counts(a) && (set.Members == nil || !set.Members.HasAddr(a)) {
				found[a] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), netip.Addr.Compare)
}

func endpoints(set *intent.Set) map[object.Key]intent.Endpoint {
	m := make(map[object.Key]intent.Endpoint)
	if set.Members != nil {
		for e := range set.Members.All() {
			m[e.Key] = e
		}
	}
	return m
}

func sortedKeys(m map[object.Key]intent.Endpoint) []object.Key {
	return slices.SortedFunc(maps.Keys(m), object.Key.Compare)
}

func (s *State) families() intent.Families {
	var f intent.Families
	for _, e := range s.Endpoints {
		for _, a := range e.Addrs {
			f |= intent.FamilyOf(a)
		}
	}
	return f
}

// sets resolves the sets of s and adds the isolated sets.
func (s *State) sets() []*intent.Set {
	byKey := make(map[object.Key]intent.Endpoint)
	for _, e := range s.Endpoints {
		byKey[e.Key] = e
	}
	var sets []*intent.Set
	members := make(map[intent.SetID][]intent.Endpoint)
	for _, spec := range s.Sets {
		for _, k := range spec.Keys {
			if e, ok := byKey[k]; ok {
				members[spec.ID] = append(members[spec.ID], e)
			}
		}
		set := &intent.Set{ID: spec.ID, Prefixes: spec.Prefixes, Hosts: spec.Hosts, Within: spec.Within}
		if !spec.Bare {
			set.Members = NewMembers(members[spec.ID]...)
		}
		sets = append(sets, set)
	}
	for _, d := range intent.Directions() {
		var isolated []intent.Endpoint
		stands := false
		for i := range s.Policies {
			if p := &s.Policies[i]; p.Direction == d && p.Isolates {
				stands = true
				isolated = append(isolated, members[p.Subject]...)
			}
		}
		if stands {
			sets = append(sets, &intent.Set{ID: intent.IsolatedSet(d), Members: NewMembers(isolated...)})
		}
	}
	return append(sets, s.staged(members)...)
}

// staged returns the sets of what staged policies would select: the members of some sets, which come, change and go with these, and with
// the number of policies. No verdict depends on them.
func (s *State) staged(members map[intent.SetID][]intent.Endpoint) []*intent.Set {
	var sets []*intent.Set
	for i, d := range intent.Directions() {
		if !s.Staged || (len(s.Policies)+i)%3 == 0 {
			continue
		}
		var staged []intent.Endpoint
		for n := i; n < len(s.Sets); n += 2 {
			staged = append(staged, members[s.Sets[n].ID]...)
		}
		sets = append(sets, &intent.Set{ID: intent.StagedSet(d), Members: NewMembers(staged...)})
	}
	return sets
}
