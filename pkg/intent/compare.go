package intent

import (
	"net/netip"
	"slices"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/netloom/netloom/pkg/object"
)

// Comparer is implemented by Members that find differences without visiting the addresses of every member.
type Comparer interface {
	// Since lists who joined and who left since was, in no particular order. A member whose addresses or node changed is in
	// both: in left as it was, in joined as it is. It returns false if it cannot be compared with was.
	Since(was Members) (joined, left []Endpoint, ok bool)
}

// ChangesFrom lists the changes that turn an earlier snapshot of the same history into s, oldest first. It always knows them:
// what s does not remember, it finds by comparing the two, which share everything that did not change. The result is then one
// net change, whose cost depends on the size of the sets that differ.
//
// A set that is in Sets exists in only one of the two, has other prefixes although it has no DNS names, or is the union of other sets.
func (s *Snapshot) ChangesFrom(was *Snapshot) []Change {
	changes, remembered := s.Since(was.revision)
	if remembered && !recreates(changes, was, s) {
		return changes
	}
	return []Change{s.compare(was)}
}

// recreates reports whether changes list a set that exists before and after them: it is not known who joined and left it.
func recreates(changes []Change, was, is *Snapshot) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		return slices.ContainsFunc(c.Sets, func(id SetID) bool {
			old, _ := was.sets.Get([]byte(id))
			now, _ := is.sets.Get([]byte(id))
			return old != nil && now != nil && old.UnionOf == nil && now.UnionOf == nil
		})
	})
}

// compare returns the net change from was to s.
func (s *Snapshot) compare(was *Snapshot) Change {
	c := Change{Families: s.families != was.families, Unknown: s.unknown != was.unknown, Ahead: !sameAhead(s.ahead, was.ahead)}
	differing(was.sets, s.sets, func(id string, old, now *Set) {
		switch {
		case old == nil || now == nil || !slices.Equal(old.UnionOf, now.UnionOf) || !slices.Equal(old.Within, now.Within) ||
			len(now.Hosts) == 0 && !slices.Equal(old.Prefixes, now.Prefixes):
			c.Sets = append(c.Sets, SetID(id))
		default:
			if d := now.since(old); d.weight() > 0 {
				c.Members = append(c.Members, d)
			}
		}
	})
	differing(was.policies, s.policies, func(id string, _, _ *Policy) { c.Policies = append(c.Policies, PolicyID(id)) })
	differing(was.balancers.byID, s.balancers.byID, func(id string, _, _ *LoadBalancer) {
		c.LoadBalancers = append(c.LoadBalancers, LoadBalancerID(id))
	})
	differing(was.nodes, s.nodes, func(name string, _, _ *Node) { c.Nodes = append(c.Nodes, name) })
	differing(was.devices.cnfs, s.devices.cnfs, func(id string, _, _ *CNF) { c.CNFs = append(c.CNFs, CNFID(id)) })
	differing(was.devices.intents, s.devices.intents, func(id string, _, _ *DeviceIntent) {
		c.DeviceIntents = append(c.DeviceIntents, DeviceIntentID(id))
	})
	return c
}

// differing calls f, ordered by key, for every value that two trees do not share; nil stands for none.
func differing[T any](was, is *iradix.Tree[*T], f func(key string, was, is *T)) {
	if was == is {
		return
	}
	before, after := was.Root().Iterator(), is.Root().Iterator()
	kb, vb, hasBefore := before.Next()
	ka, va, hasAfter := after.Next()
	for hasBefore || hasAfter {
		switch {
		case !hasAfter || hasBefore && string(kb) < string(ka):
			f(string(kb), vb, nil)
			kb, vb, hasBefore = before.Next()
		case !hasBefore || string(ka) < string(kb):
			f(string(ka), nil, va)
			ka, va, hasAfter = after.Next()
		default:
			if vb != va {
				f(string(ka), vb, va)
			}
			kb, vb, hasBefore = before.Next()
			ka, va, hasAfter = after.Next()
		}
	}
}

// since returns the net change of the members and prefixes of a set.
func (s *Set) since(was *Set) SetDelta {
	d := SetDelta{ID: s.ID}
	compared := false
	if c, ok := s.Members.(Comparer); ok {
		d.Joined, d.Left, compared = c.Since(was.Members)
	}
	if !compared {
		d.Joined, d.Left = visit(was.Members, s.Members)
	}
	d.AddrsAdded = lacking(d.Joined, s, was)
	d.AddrsRemoved = lacking(d.Left, was, s)
	d.setPrefixes(was.Prefixes, s.Prefixes)
	return d
}

// visit compares members by visiting all of them.
func visit(was, is Members) (joined, left []Endpoint) {
	before := map[object.Key]Endpoint{}
	if was != nil {
		for e := range was.All() {
			before[e.Key] = e
		}
	}
	if is != nil {
		for e := range is.All() {
			old, stays := before[e.Key]
			delete(before, e.Key)
			if stays && sameEndpoint(&old, &e) {
				continue
			}
			if stays {
				left = append(left, old)
			}
			joined = append(joined, e)
		}
	}
	for _, e := range before {
		left = append(left, e)
	}
	return joined, left
}

func sameEndpoint(a, b *Endpoint) bool {
	return a.Node == b.Node && slices.Equal(a.Addrs, b.Addrs) && slices.Equal(a.Shared, b.Shared)
}

// lacking lists the addresses of endpoints that count in one set and that no member of the other has.
func lacking(endpoints []Endpoint, in, other *Set) []netip.Addr {
	var out []netip.Addr
	for i := range endpoints {
		for _, a := range endpoints[i].Addrs {
			if in.Counts(a) && (other.Members == nil || !other.Members.HasAddr(a)) {
				out = append(out, a)
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
