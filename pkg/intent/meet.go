package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// meet is the intersection of several sets: as a subject, the endpoints in all of them; as a peer, the addresses in all of
// them.
type meet struct {
	sets    []*Set
	subject bool
}

// meetID names an intersection. The IDs are sorted and at least two.
func meetID(ids []SetID, subject bool) SetID {
	h := sha256.New()
	for _, id := range ids {
		h.Write([]byte(id))
		h.Write([]byte{0})
	}
	kind := "meet/peer/"
	if subject {
		kind = "meet/subject/"
	}
	return SetID(kind + hex.EncodeToString(h.Sum(nil)[:16]))
}

// newMeet returns the intersection as a set.
func newMeet(id SetID, sets []*Set, subject bool) *Set {
	m := meet{sets: sets, subject: subject}
	set := &Set{ID: id, Members: m}
	var titles []string
	for i, s := range sets {
		titles = append(titles, s.Title)
		if subject {
			continue
		}
		set.Hosts = append(set.Hosts, s.Hosts...)
		if i == 0 {
			set.Prefixes = s.Prefixes
		} else {
			set.Prefixes = intersectPrefixes(set.Prefixes, s.Prefixes)
		}
	}
	if !subject && !m.mayHaveMembers() {
		set.Members = nil
	}
	slices.Sort(set.Hosts)
	set.Hosts = slices.Compact(set.Hosts)
	set.Title = strings.Join(titles, " and ")
	return set
}

// mayHaveMembers reports whether some set has members at all.
func (m meet) mayHaveMembers() bool {
	return slices.ContainsFunc(m.sets, func(s *Set) bool { return s.Members != nil })
}

// Len implements Members.
func (m meet) Len() int {
	n := 0
	for range m.All() {
		n++
	}
	return n
}

// All implements Members. An endpoint has only those addresses that count.
func (m meet) All() iter.Seq[Endpoint] {
	return func(yield func(Endpoint) bool) {
		candidates := m.candidates()
		for i, s := range candidates {
			if s.Members == nil {
				continue
			}
			for e := range s.Members.All() {
				if !m.subject {
					if slices.ContainsFunc(candidates[:i], func(before *Set) bool { return before.HasKey(e.Key) }) {
						continue
					}
					e.Addrs = slices.DeleteFunc(slices.Clone(e.Addrs), func(a netip.Addr) bool { return !m.HasAddr(a) })
				}
				if (m.subject && m.HasKey(e.Key) || !m.subject && len(e.Addrs) > 0) && !yield(e) {
					return
				}
			}
		}
	}
}

// candidates lists sets that together have every member: the smallest, unless prefixes make addresses of others count too.
func (m meet) candidates() []*Set {
	prefixed := func(s *Set) bool { return len(s.Prefixes) > 0 }
	if !m.subject && slices.ContainsFunc(m.sets, prefixed) {
		return m.sets
	}
	return []*Set{slices.MinFunc(m.sets, func(a, b *Set) int { return a.Len() - b.Len() })}
}

// HasKey implements Members.
func (m meet) HasKey(k object.Key) bool {
	return !slices.ContainsFunc(m.sets, func(s *Set) bool { return !s.HasKey(k) })
}

// HasAddr implements Members. An address that is only in the common prefixes is not one of a member.
func (m meet) HasAddr(a netip.Addr) bool {
	held := false
	for _, s := range m.sets {
		holds := s.Members != nil && s.Counts(a) && s.Members.HasAddr(a)
		if !holds && (m.subject || !covers(s.Prefixes, a)) {
			return false
		}
		held = held || holds
	}
	return held
}

// HasSharedAddr implements Members.
func (m meet) HasSharedAddr(a netip.Addr) bool {
	for _, s := range m.sets {
		if s.Members == nil || !s.Members.HasSharedAddr(a) {
			return false
		}
	}
	for e := range m.All() {
		if slices.Contains(e.Shared, a) {
			return true
		}
	}
	return false
}

// intersectPrefixes returns the addresses in both of two lists of sorted, disjoint prefixes, as such a list.
func intersectPrefixes(a, b []netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for len(a) > 0 && len(b) > 0 {
		p, q := a[0], b[0]
		if p.Overlaps(q) {
			if p.Bits() < q.Bits() {
				p = q
			}
			out = append(out, p)
		}
		if lastAddr(a[0]).Compare(lastAddr(b[0])) <= 0 {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// lastAddr returns the highest address of a prefix.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// change returns what differs between an intersection before and after changes of its sets.
func (m meet) change(id SetID, after meet, t *touchedMembers) SetDelta {
	delta := SetDelta{ID: id}
	if t.prefixes {
		t.addAddrs(m)
		t.addAddrs(after)
	}
	for _, k := range t.order {
		was, is := m.HasKey(k), after.HasKey(k)
		e := t.byKey[k]
		if was && e.left != nil && (!is || e.joined != nil) {
			delta.Left = append(delta.Left, *e.left)
		}
		if is && e.joined != nil && (!was || e.left != nil) {
			delta.Joined = append(delta.Joined, *e.joined)
		}
	}
	for a := range t.addrs {
		switch was, is := m.HasAddr(a), after.HasAddr(a); {
		case is && !was:
			delta.AddrsAdded = append(delta.AddrsAdded, a)
		case was && !is:
			delta.AddrsRemoved = append(delta.AddrsRemoved, a)
		}
	}
	slices.SortFunc(delta.AddrsAdded, netip.Addr.Compare)
	slices.SortFunc(delta.AddrsRemoved, netip.Addr.Compare)
	return delta
}

// touchedMembers is what changes of some sets touch.
type touchedMembers struct {
	byKey map[object.Key]*touchedMember
	order []object.Key
	addrs map[netip.Addr]bool
	// prefixes is whether those of a set changed: then any address of a member may count now, or no longer.
	prefixes bool
}

// addAddrs adds all addresses of members.
func (t *touchedMembers) addAddrs(m meet) {
	for e := range m.All() {
		for _, a := range e.Addrs {
			t.addrs[a] = true
		}
	}
}

// touchedMember is an endpoint before and after changes: as it first left, and as it last joined. Either may be nil.
type touchedMember struct{ left, joined *Endpoint }

func newTouchedMembers() *touchedMembers {
	return &touchedMembers{byKey: map[object.Key]*touchedMember{}, addrs: map[netip.Addr]bool{}}
}

// add adds one more change, later than those before.
func (t *touchedMembers) add(d *SetDelta) {
	t.prefixes = t.prefixes || len(d.PrefixesAdded)+len(d.PrefixesRemoved) > 0
	for i := range d.Left {
		if e := t.member(&d.Left[i]); e.left == nil && e.joined == nil {
			e.left = &d.Left[i]
		}
	}
	for i := range d.Joined {
		t.member(&d.Joined[i]).joined = &d.Joined[i]
	}
	for _, list := range [][]netip.Addr{d.AddrsAdded, d.AddrsRemoved} {
		for _, a := range list {
			t.addrs[a] = true
		}
	}
}

func (t *touchedMembers) member(e *Endpoint) *touchedMember {
	m := t.byKey[e.Key]
	if m == nil {
		m = &touchedMember{}
		t.byKey[e.Key] = m
		t.order = append(t.order, e.Key)
	}
	for _, list := range [][]netip.Addr{e.Addrs, e.Shared} {
		for _, a := range list {
			t.addrs[a] = true
		}
	}
	return m
}
