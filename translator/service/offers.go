package service

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/btree"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/budget"
)

// pool names the backends of one port of a Service in one family.
type pool struct {
	port     string // its name
	protocol intent.Protocol
	family   intent.Families
}

// offers is what the slices of a Service have for a pool. Its backends are kept once they are needed, and follow each slice at the cost of
// what changes in it.
type offers struct {
	from      map[offer]bool
	endpoints int // of all, ready or not

	kept    bool // what follows is
	unready bool // readiness is ignored
	listed  *btree.BTreeG[candidate]
	chosen  intent.Backends // the first candidate of each address and port
}

// offer is what one slice has for a pool: its endpoints, with a port number.
type offer struct {
	slice  *endpointSlice
	number uint16
}

// slot is a place in a pool.
type slot struct {
	pool

	number uint16
}

// slots returns the places for which a slice has endpoints; none for nil.
func (s *endpointSlice) slots() map[slot]bool {
	out := map[slot]bool{}
	if s != nil {
		for _, p := range s.ports {
			out[slot{pool{p.name, p.protocol, s.family}, p.number}] = true
		}
	}
	return out
}

// exchange takes over that a slice was replaced by another of its name; nil is none.
func (s *service) exchange(was, now *endpointSlice) {
	before, after := was.slots(), now.slots()
	for at := range before {
		if after[at] {
			s.offers[at.pool].exchange(was, now, at.number)
		} else {
			s.offers[at.pool].exchange(was, nil, at.number)
		}
	}
	for at := range after {
		if before[at] {
			continue
		}
		if s.offers[at.pool] == nil {
			s.offers[at.pool] = &offers{from: map[offer]bool{}}
		}
		s.offers[at.pool].exchange(nil, now, at.number)
	}
	for at := range before {
		if o := s.offers[at.pool]; o != nil && len(o.from) == 0 {
			delete(s.offers, at.pool)
		}
	}
}

// exchange takes over that one slice was replaced by another of its name, for one port number; nil is none.
func (o *offers) exchange(was, now *endpointSlice, number uint16) {
	var gone, came []sliceEndpoint
	if was != nil {
		gone = was.endpoints
		delete(o.from, offer{was, number})
	}
	if now != nil {
		came = now.endpoints
		o.from[offer{now, number}] = true
	}
	o.endpoints += len(came) - len(gone)
	for o.kept && len(gone)+len(came) > 0 {
		at := lowest(gone, came)
		old, left := split(gone, at)
		next, rest := split(came, at)
		if !slices.EqualFunc(old, next, sliceEndpoint.equal) {
			for i := range old {
				if c, ok := o.candidate(was, &old[i], number); ok {
					o.listed.Delete(c)
				}
			}
			for i := range next {
				if c, ok := o.candidate(now, &next[i], number); ok {
					o.listed.ReplaceOrInsert(c)
				}
			}
			o.choose(netip.AddrPortFrom(at, number))
		}
		gone, came = left, rest
	}
}

// lowest returns the first address of two lists that are ordered by address, of which one is not empty.
func lowest(a, b []sliceEndpoint) netip.Addr {
	if len(a) == 0 || len(b) > 0 && b[0].Addr.Less(a[0].Addr) {
		return b[0].Addr
	}
	return a[0].Addr
}

// split returns the endpoints at the beginning of a list that have an address, and the others.
func split(list []sliceEndpoint, at netip.Addr) (with, others []sliceEndpoint) {
	n := 0
	for n < len(list) && list[n].Addr == at {
		n++
	}
	return list[:n], list[n:]
}

// choose makes the first candidate of an address and port the backend there.
func (o *offers) choose(at netip.AddrPort) {
	o.chosen = o.chosen.Without(at)
	least := candidate{Backend: &intent.Backend{Addr: at.Addr(), Port: at.Port()}}
	o.listed.AscendGreaterOrEqual(least, func(c candidate) bool {
		if c.AddrPort() == at {
			o.chosen = o.chosen.With(c.Backend)
		}
		return false
	})
}

// backends returns what is behind the pool. With unready, readiness is ignored, as required of consumers of a Service's endpoints
// (ServiceSpec.publishNotReadyAddresses).
func (o *offers) backends(unready bool) intent.Backends {
	if o.kept && o.unready == unready {
		return o.chosen
	}
	o.kept, o.unready, o.listed = true, unready, btree.NewG(degree, candidate.before)
	for of := range o.from {
		for i := range of.slice.endpoints {
			if c, ok := o.candidate(of.slice, &of.slice.endpoints[i], of.number); ok {
				o.listed.ReplaceOrInsert(c)
			}
		}
	}
	var list []*intent.Backend
	o.listed.Ascend(func(c candidate) bool {
		if n := len(list); n == 0 || list[n-1].Compare(c.Backend) != 0 {
			list = append(list, c.Backend)
		}
		return true
	})
	o.chosen = intent.BackendsOf(list)
	return o.chosen
}

// forget stops keeping the backends.
func (o *offers) forget() { o.kept, o.listed, o.chosen = false, nil, intent.Backends{} }

// degree is that of the trees of candidates.
const degree = 32

// candidate is a backend in a slice. Several may have one address and port.
type candidate struct {
	*intent.Backend

	slice string
	order int
}

// candidate returns an endpoint as a backend; false if it is not used.
func (o *offers) candidate(of *endpointSlice, e *sliceEndpoint, port uint16) (candidate, bool) {
	if e.unready && !o.unready {
		return candidate{}, false
	}
	b := e.Backend
	b.Port, b.Draining = port, b.Draining && !o.unready
	return candidate{&b, of.name, e.order}, true
}

// before orders candidates by address and port. Of duplicates, one that is ready comes first, and otherwise that of the first slice by name.
func (c candidate) before(d candidate) bool {
	return cmp.Or(c.Compare(d.Backend), compareBools(c.Draining, d.Draining), strings.Compare(c.slice, d.slice), cmp.Compare(c.order, d.order)) < 0
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// spend takes the endpoints of a pool from the budget, for the pool and for a frontend, if the address of that is not a node's.
func (s *translation) spend(of pool, kind intent.FrontendKind) bool {
	o := s.service.offers[of]
	if o == nil {
		return true
	}
	n := 0
	if !s.pools[of] {
		n = o.endpoints
	}
	if kind != intent.NodePort {
		n += o.endpoints
	}
	s.pools[of] = true
	return s.account.Spend(budget.Backends, n)
}

// fill gives the frontends their backends.
func (s *translation) fill() {
	for i, of := range s.behind {
		if o := s.service.offers[of]; o != nil {
			s.out[i].Backends = o.backends(s.object.Spec.PublishNotReadyAddresses)
		}
	}
}
