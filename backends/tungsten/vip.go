package tungsten

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// vip is a cluster address of Services. Policies refer to what is behind it.
type vip struct {
	addr     netip.Addr
	fronts   []front      // ordered by protocol and port
	backends []netip.Addr // of all fronts, sorted
}

// front is a port of a VIP.
type front struct {
	protocol intent.Protocol
	port     uint16
	targets  []uint16 // the ports of its backends, sorted
	owner    intent.LoadBalancerID
	path     string
}

// services is the VIPs of a snapshot and which of them have backends in which sets.
type services struct {
	want   *intent.Snapshot
	vips   []*vip // ordered by address
	behind map[netip.Addr][]int
	covers map[coverKey]coverage
}

// coverKey is a set as a subject or as a peer: an address that several endpoints share counts for subjects only.
type coverKey struct {
	set     intent.SetID
	subject bool
}

// coverage lists VIPs by their index: those whose backends are all in a set, and those of which at least one is.
type coverage struct{ all, some []int }

// has reports whether a is a VIP.
func (s *services) has(a netip.Addr) bool {
	_, found := slices.BinarySearchFunc(s.vips, a, func(v *vip, a netip.Addr) int { return v.addr.Compare(a) })
	return found
}

// servicesOf finds the VIPs of a snapshot. There are as many as fit into an address group; see refused for the others.
// Kept are VIPs of Services that are unavailable.
func servicesOf(want *intent.Snapshot, kept []*vip) *services {
	s := &services{want: want, behind: map[netip.Addr][]int{}, covers: map[coverKey]coverage{}}
	byAddr := map[netip.Addr]*vip{}
	for _, v := range kept {
		byAddr[v.addr] = v
		s.vips = append(s.vips, v)
	}
	for lb := range want.LoadBalancers() {
		for i := range lb.Frontends {
			f := &lb.Frontends[i]
			if lb.Network != "" || f.Kind != intent.ClusterAddress || f.Protocol != intent.TCP && f.Protocol != intent.UDP {
				continue
			}
			v := byAddr[f.Addr]
			if v == nil {
				v = &vip{addr: f.Addr}
				byAddr[f.Addr] = v
				s.vips = append(s.vips, v)
			}
			v.add(lb.ID, f)
		}
	}
	slices.SortFunc(s.vips, func(a, b *vip) int { return a.addr.Compare(b.addr) })
	s.vips = s.vips[:min(len(s.vips), maxPrefixes)]
	for i, v := range s.vips {
		slices.SortFunc(v.backends, netip.Addr.Compare)
		v.backends = slices.Compact(v.backends)
		for _, a := range v.backends {
			s.behind[a] = append(s.behind[a], i)
		}
	}
	return s
}

// fresh is s for another goroutine.
func (s *services) fresh() *services {
	next := *s
	next.covers = map[coverKey]coverage{}
	return &next
}

// add adds a frontend with the backends that connections to it may be sent to, or all if that depends on the node.
func (v *vip) add(of intent.LoadBalancerID, f *intent.Frontend) {
	backends := f.Backends
	if !f.PerNode(true) {
		backends = f.Choose(nil, true)
	}
	next := front{protocol: f.Protocol, port: f.Port, owner: of, path: f.Path}
	for b := range backends.All() {
		v.backends = append(v.backends, b.Addr)
		next.targets = append(next.targets, b.Port)
	}
	slices.Sort(next.targets)
	next.targets = slices.Compact(next.targets)
	v.fronts = append(v.fronts, next)
}

// cover finds the VIPs with backends in a set.
func (s *services) cover(id intent.SetID, subject bool) coverage {
	key := coverKey{id, subject}
	if c, known := s.covers[key]; known {
		return c
	}
	c := s.find(s.want.Set(id), subject)
	s.covers[key] = c
	return c
}

func (s *services) find(set *intent.Set, subject bool) coverage {
	if set == nil || len(s.behind) == 0 {
		return coverage{}
	}
	found := map[netip.Addr]bool{}
	if set.Members != nil && len(set.Prefixes) == 0 && set.Len() < len(s.behind) {
		for e := range set.Members.All() {
			for _, a := range slices.Concat(e.Addrs, e.Shared) {
				if len(s.behind[a]) > 0 && selects(set, a, subject) {
					found[a] = true
				}
			}
		}
	} else {
		for a := range s.behind {
			if selects(set, a, subject) {
				found[a] = true
			}
		}
	}
	counts := map[int]int{}
	for a := range found {
		for _, i := range s.behind[a] {
			counts[i]++
		}
	}
	var c coverage
	for i, n := range counts {
		c.some = append(c.some, i)
		if n == len(s.vips[i].backends) {
			c.all = append(c.all, i)
		}
	}
	slices.Sort(c.some)
	slices.Sort(c.all)
	return c
}

// selects reports whether an address belongs to a set.
func selects(set *intent.Set, a netip.Addr, subject bool) bool {
	if !subject {
		return set.Contains(a)
	}
	return set.Members != nil && (set.Members.HasAddr(a) || set.Members.HasSharedAddr(a))
}

// any is the coverage of everything.
func (s *services) any() coverage {
	var c coverage
	for i, v := range s.vips {
		if len(v.backends) > 0 {
			c.some, c.all = append(c.some, i), append(c.all, i)
		}
	}
	return c
}

func (c coverage) equal(o coverage) bool {
	return slices.Equal(c.all, o.all) && slices.Equal(c.some, o.some)
}

// within returns what is in both coverages. A VIP of which each set has some backends counts as if both had the same.
func (c coverage) within(o coverage) coverage {
	both := func(a, b []int) []int {
		return slices.DeleteFunc(slices.Clone(a), func(i int) bool {
			_, in := slices.BinarySearch(b, i)
			return !in
		})
	}
	return coverage{all: both(c.all, o.all), some: both(c.some, o.some)}
}

// next returns the VIPs of a later snapshot, and whether rules for VIPs are the same.
func (s *services) next(want *intent.Snapshot, changes []intent.Change) (next *services, same bool) {
	if !slices.ContainsFunc(changes, func(c intent.Change) bool {
		return len(c.LoadBalancers) > 0 || slices.ContainsFunc(c.Members, func(d intent.SetDelta) bool { return s.concerns(d.Joined) || s.concerns(d.Left) })
	}) {
		still := *s
		still.want = want
		return &still, true
	}
	next = servicesOf(want, nil)
	return next, s.stays(next, changes)
}

// stays reports whether rules for VIPs are the same with next, after changes of members.
func (s *services) stays(next *services, changes []intent.Change) bool {
	if !slices.EqualFunc(s.vips, next.vips, func(a, b *vip) bool {
		return a.addr == b.addr && slices.EqualFunc(a.fronts, b.fronts, front.equal)
	}) {
		return false
	}
	moved := slices.ContainsFunc(s.vips, func(v *vip) bool {
		i, _ := slices.BinarySearchFunc(next.vips, v.addr, func(n *vip, a netip.Addr) int { return n.addr.Compare(a) })
		return !slices.Equal(v.backends, next.vips[i].backends)
	})
	touched := map[intent.SetID]bool{}
	for i := range changes {
		for j := range changes[i].Members {
			if d := &changes[i].Members[j]; moved || next.concerns(d.Joined) || next.concerns(d.Left) {
				touched[d.ID] = true
			}
		}
	}
	for key, was := range s.covers {
		if !moved && !touched[key.set] {
			next.covers[key] = was
		} else if !next.cover(key.set, key.subject).equal(was) {
			return false
		}
	}
	return true
}

// concerns reports whether an address of an endpoint is behind a VIP.
func (s *services) concerns(endpoints []intent.Endpoint) bool {
	return slices.ContainsFunc(endpoints, func(e intent.Endpoint) bool {
		return slices.ContainsFunc(slices.Concat(e.Addrs, e.Shared), func(a netip.Addr) bool { return len(s.behind[a]) > 0 })
	})
}

func (f front) equal(o front) bool {
	return f.protocol == o.protocol && f.port == o.port && f.owner == o.owner && f.path == o.path && slices.Equal(f.targets, o.targets)
}

// addrsOf lists the addresses of VIPs.
func (s *services) addrsOf(indexes []int) []netip.Addr {
	out := make([]netip.Addr, 0, len(indexes))
	for _, i := range indexes {
		out = append(out, s.vips[i].addr)
	}
	return out
}

// groupOf names the address group of some VIPs after what it contains: it never changes.
func (n namer) groupOf(addrs []netip.Addr) string {
	var all strings.Builder
	for _, a := range addrs {
		all.WriteString(a.String() + " ")
	}
	return n.prefix() + "vips." + digest(all.String())
}

// allVIPs names the address group of all VIPs.
func (n namer) allVIPs() string { return n.prefix() + "services" }
