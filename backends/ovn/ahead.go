package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// aheads are the address sets that a snapshot announces, as far as it does. A row that is written ahead has no effect, as nothing refers to
// it. When a group does, it gets the prefixes that it lacks.
type aheads map[addressSetRef]beginning

// beginning is the beginning of an address set.
type beginning struct {
	set   *intent.Set
	ready int // how many of the prefixes of the family are announced
}

// aheadsOf returns what a snapshot announces, except for families of which a match would list the prefixes.
func aheadsOf(s *intent.Snapshot) aheads {
	out := aheads{}
	for _, a := range s.Ahead() {
		for _, f := range []intent.Families{intent.IPv4, intent.IPv6} {
			if len(ofFamily(a.Set.Prefixes, f)) > inlinePrefixes {
				out[addressSetRef{a.Set.ID, f}] = beginning{a.Set, len(ofFamily(a.Set.Prefixes[:a.Ready], f))}
			}
		}
	}
	return out
}

// without returns the announced address sets to which no group refers.
func (a aheads) without(peers map[addressSetRef]int) aheads {
	out := aheads{}
	for ref, b := range a {
		if peers[ref] == 0 {
			out[ref] = b
		}
	}
	return out
}

// aheadSet returns the row of the beginning of an address set.
func (r *renderer) aheadSet(ref addressSetRef, b beginning) *nb.Row {
	as := r.titledSet(ref, b.set.Title)
	as.Sets = map[string][]string{"addresses": b.addresses(ref.family, 0, b.ready)}
	return as
}

// addresses lists the prefixes of a family from one to another, sorted as a column is.
func (b *beginning) addresses(f intent.Families, from, to int) []string {
	var out []string
	for _, p := range ofFamily(b.set.Prefixes, f)[from:to] {
		out = append(out, nb.PrefixText(p))
	}
	slices.Sort(out)
	return out
}

// planAhead plans the address sets that are announced before or after. References are how many groups more refer to each. Want and have
// are the rows that are created and removed because of those alone.
func (p *policyPlan) planAhead(references map[addressSetRef]int, want, have nb.Rows) {
	was, is := p.m.ahead, aheadsOf(p.r.want)
	before := &renderer{names: p.r.names, want: p.m.snapshot, schema: p.r.schema}
	all := maps.Clone(was)
	maps.Copy(all, is)
	for ref, b := range all {
		groups := p.m.peers[ref] + references[ref]
		old, announced := was[ref]
		now, announces := is[ref]
		switch {
		case p.m.peers[ref] > 0 && groups > 0:
		case p.m.peers[ref] > 0 && announces:
			have.Put(before.addressSet(ref))
			want.Put(p.r.aheadSet(ref, now))
		case p.m.peers[ref] > 0: // it is in have
		case groups > 0 && p.isBegun(ref):
			p.extend(ref, old, len(ofFamily(b.set.Prefixes, ref.family)))
		case groups > 0 && announced:
			have.Put(p.r.aheadSet(ref, old)) // it is in want
		case groups > 0:
		case announced && announces:
			p.extend(ref, old, now.ready)
		case announced:
			have.Put(p.r.titledSet(ref, b.set.Title))
		case announces:
			want.Put(p.r.aheadSet(ref, now))
		}
	}
}

// isBegun reports whether the beginning of an address set that groups are to refer to was written ahead, and only prefixes are missing.
func (p *policyPlan) isBegun(ref addressSetRef) bool {
	_, begun := p.m.ahead[ref]
	return begun && p.r.want.Set(ref.set).Len() == 0
}

// extend adds prefixes to a row that was written ahead until there are that many, or removes some.
func (p *policyPlan) extend(ref addressSetRef, b beginning, to int) {
	row := p.r.titledSet(ref, b.set.Title)
	if to >= b.ready {
		p.mutate(row, "addresses", b.addresses(ref.family, b.ready, to), nil)
	} else {
		p.mutate(row, "addresses", nil, b.addresses(ref.family, to, b.ready))
	}
}
