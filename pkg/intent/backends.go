package intent

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// Backend is one address and port that a flow may be sent on to.
type Backend struct {
	Addr     netip.Addr // without a zone
	Port     uint16     // 1 to 65535
	Key      object.Key // the endpoint that the source object names, for display; the zero key if it names none
	Node     string     // where it runs; "" if unknown
	ForNodes []string   // hint: the nodes it is meant for, sorted; empty means no hint
	ForZones []string   // hint: the zones it is meant for, sorted; empty means no hint
	// Draining means that it is terminating but still serving: it is used only if no other can be.
	Draining bool
}

// Compare orders backends by address and port.
func (b *Backend) Compare(o *Backend) int {
	return cmp.Or(b.Addr.Compare(o.Addr), cmp.Compare(b.Port, o.Port))
}

// AddrPort returns where b listens.
func (b *Backend) AddrPort() netip.AddrPort { return netip.AddrPortFrom(b.Addr, b.Port) }

// Equal reports whether two backends have the same fields.
func (b *Backend) Equal(o *Backend) bool {
	return b == o || b.Addr == o.Addr && b.Port == o.Port && b.Key == o.Key && b.Node == o.Node && b.Draining == o.Draining &&
		slices.Equal(b.ForNodes, o.ForNodes) && slices.Equal(b.ForZones, o.ForZones)
}

// Backends are those behind a frontend, ordered by Backend.Compare, no two of one address and port. They are read-only: With and Without
// return others, which share what is equal, at a cost that depends on the length of an address. The zero value has none. Equal compares
// two; == may be false for equal ones.
type Backends struct {
	ready, draining    branch
	forNodes, forZones int // how many that are ready have such hints
}

// NewBackends makes backends of a list in any order. Of several with one address and port, the first counts.
func NewBackends(list ...Backend) Backends {
	all := make([]*Backend, len(list))
	for i := range list {
		b := list[i]
		all[i] = &b
	}
	slices.SortStableFunc(all, (*Backend).Compare)
	return backendsOf(slices.CompactFunc(all, func(a, b *Backend) bool { return a.Compare(b) == 0 }))
}

// BackendsOf makes backends of a list that is ordered by Backend.Compare, no two of one address and port. Those in it must not change.
func BackendsOf(sorted []*Backend) Backends { return backendsOf(slices.Clone(sorted)) }

// backendsOf is BackendsOf for a list that may be changed.
func backendsOf(sorted []*Backend) Backends {
	var out Backends
	var draining []*Backend
	ready := sorted[:0]
	for _, b := range sorted {
		if b.Draining {
			draining = append(draining, b)
			continue
		}
		ready = append(ready, b)
		out.count(b, 1)
	}
	out.ready, out.draining = grown(ready), grown(draining)
	return out
}

// count adds n to the numbers of those with hints, if b has hints.
func (l *Backends) count(b *Backend, n int) {
	if b == nil || b.Draining {
		return
	}
	if len(b.ForNodes) > 0 {
		l.forNodes += n
	}
	if len(b.ForZones) > 0 {
		l.forZones += n
	}
}

// Len returns how many there are.
func (l Backends) Len() int { return l.ready.size() + l.draining.size() }

// Get returns the one with an address and port, nil if there is none.
func (l Backends) Get(at netip.AddrPort) *Backend {
	k := keyOf(at)
	if b := l.ready.get(&k); b != nil {
		return b
	}
	return l.draining.get(&k)
}

// With returns l and b, in place of the one with its address and port. B must not change after that.
func (l Backends) With(b *Backend) Backends {
	at := b.AddrPort()
	l, k := l.Without(at), keyOf(at)
	if b.Draining {
		l.draining = l.draining.with(&k, b)
		return l
	}
	l.ready = l.ready.with(&k, b)
	l.count(b, 1)
	return l
}

// Without returns l without the one with an address and port.
func (l Backends) Without(at netip.AddrPort) Backends {
	k := keyOf(at)
	l.count(l.ready.get(&k), -1)
	l.ready, l.draining = l.ready.without(&k), l.draining.without(&k)
	return l
}

// All yields every backend in order.
func (l Backends) All() iter.Seq[*Backend] {
	if l.draining == (branch{}) {
		return l.ready.all
	}
	return func(yield func(*Backend) bool) {
		next, stop := iter.Pull(iter.Seq[*Backend](l.draining.all))
		defer stop()
		draining, more := next()
		for b := range l.ready.all {
			for ; more && draining.Compare(b) < 0; draining, more = next() {
				if !yield(draining) {
					return
				}
			}
			if !yield(b) {
				return
			}
		}
		for ; more; draining, more = next() {
			if !yield(draining) {
				return
			}
		}
	}
}

// Some returns at most n in order, those with the lowest hashes of address and port: one that comes or goes changes no more than one of
// them, and none is preferred because its address is low. The cost depends on n, and hardly on how many there are.
func (l Backends) Some(n int) []*Backend {
	out := lowest(n, l.ready, l.draining)
	slices.SortFunc(out, (*Backend).Compare)
	return out
}

// Equal reports whether two have equal backends. The cost depends on how much they do not share.
func (l Backends) Equal(o Backends) bool {
	return l.forNodes == o.forNodes && l.forZones == o.forZones && l.ready.equal(o.ready) && l.draining.equal(o.draining)
}

// String lists the backends with all their fields.
func (l Backends) String() string {
	var parts []string
	for b := range l.All() {
		parts = append(parts, fmt.Sprintf("%+v", *b))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// best returns the wanted ones that are ready, or those that drain if none is ready. Nil wants all.
func (l Backends) best(wanted func(*Backend) bool) Backends {
	if wanted == nil {
		if l.ready != (branch{}) {
			l.draining = branch{}
		}
		return l
	}
	for _, from := range []branch{l.ready, l.draining} {
		var list []*Backend
		for b := range from.all {
			if wanted(b) {
				list = append(list, b)
			}
		}
		if len(list) > 0 {
			return backendsOf(list)
		}
	}
	return Backends{}
}
