package translator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
)

// setSpec is what a set means: endpoints that any term selects, and prefixes. The zero spec is nobody.
type setSpec struct {
	terms    []labelcache.Term
	prefixes []netip.Prefix // canonical
	within   []netip.Prefix // canonical; narrows the terms
	local    bool           // of the terms only endpoints on the translator's own node: subjects, where it has one
	name     intent.SetID   // the result of id, and the terms are canonical; "" until named
}

func (s setSpec) empty() bool { return len(s.terms) == 0 && len(s.prefixes) == 0 }

// named is s in canonical form with its ID at hand, for a spec that is held many times.
func (s setSpec) named() setSpec {
	s = s.canonical()
	s.name = s.id()
	return s
}

// canonical sorts the terms and drops repeated ones.
func (s setSpec) canonical() setSpec {
	if s.name != "" {
		return s
	}
	terms := slices.Clone(s.terms)
	slices.SortFunc(terms, func(a, b labelcache.Term) int { return strings.Compare(a.ID(), b.ID()) })
	s.terms = slices.CompactFunc(terms, func(a, b labelcache.Term) bool { return a.ID() == b.ID() })
	return s
}

// id is equal for specs that mean the same, whoever wrote them. It does not say which node is the own one.
func (s setSpec) id() intent.SetID {
	if s.name != "" {
		return s.name
	}
	h := sha256.New()
	for _, t := range s.terms {
		h.Write([]byte(t.ID()))
		h.Write([]byte{0})
	}
	for _, list := range [][]netip.Prefix{s.prefixes, s.within} {
		h.Write([]byte{1})
		for _, p := range list {
			h.Write([]byte(p.String()))
			h.Write([]byte{0})
		}
	}
	kind := "set/"
	if s.local {
		kind = "local/"
	}
	return intent.SetID(kind + hex.EncodeToString(h.Sum(nil)[:16]))
}

// shownParts is how many selectors or prefixes of a set its title names.
const shownParts = 4

// title is what a person would call the set.
func (s setSpec) title() string {
	var parts []string
	if len(s.terms) > 0 {
		parts = append(parts, joinSome(s.terms, labelcache.Term.String))
	}
	if s.local {
		parts = append(parts, onThisNode)
	}
	if len(s.within) > 0 {
		parts = append(parts, "within "+joinSome(s.within, netip.Prefix.String))
	}
	if len(s.prefixes) > 0 {
		parts = append(parts, joinSome(s.prefixes, netip.Prefix.String))
	}
	return strings.Join(parts, ", ")
}

// joinSome spells the first few of a list.
func joinSome[T any](list []T, spell func(T) string) string {
	var parts []string
	for _, v := range list[:min(len(list), shownParts)] {
		parts = append(parts, spell(v))
	}
	if more := len(list) - shownParts; more > 0 {
		parts = append(parts, fmt.Sprintf("… (%d more)", more))
	}
	return strings.Join(parts, ", ")
}

// heldSet is a set that some translated object uses.
type heldSet struct {
	spec    setSpec
	holders int
	shown   int  // holders that a snapshot shows; it has the set as long as there is one
	numbers bool // held only to learn what a named port resolves to: not part of a snapshot
}

// setTable counts who holds which set and keeps the label cache in step.
type setTable struct {
	cache   *labelcache.Cache
	node    string // whose endpoints are local
	held    map[intent.SetID]*heldSet
	touched map[intent.SetID]bool // held or shown for the first time, or no longer, since the last snapshot
}

func newSetTable(cache *labelcache.Cache, node string) *setTable {
	return &setTable{cache: cache, node: node, held: map[intent.SetID]*heldSet{}, touched: map[intent.SetID]bool{}}
}

// cached are the terms of spec as the label cache gets them.
func (t *setTable) cached(spec setSpec) []labelcache.Term {
	if !spec.local {
		return spec.terms
	}
	terms := make([]labelcache.Term, len(spec.terms))
	for i, term := range spec.terms {
		terms[i] = term.On(t.node)
	}
	return terms
}

// hold takes one hold of the set that spec means.
func (t *setTable) hold(spec setSpec) intent.SetID {
	spec = spec.canonical()
	return t.take(spec.id(), spec, false)
}

// holdNumbers takes one hold of the set whose members declare a named port, for the numbers it resolves to.
func (t *setTable) holdNumbers(spec setSpec) intent.SetID {
	spec = spec.canonical()
	return t.take("numbers/"+spec.id(), spec, true)
}

func (t *setTable) take(id intent.SetID, spec setSpec, numbers bool) intent.SetID {
	s := t.held[id]
	if s == nil {
		s = &heldSet{spec: spec, numbers: numbers}
		t.held[id] = s
		t.touched[id] = true
		for _, term := range t.cached(spec) {
			t.cache.AddTerm(labelcache.SetID(id), term)
		}
	}
	s.holders++
	return id
}

// release gives one hold back.
func (t *setTable) release(id intent.SetID) {
	s := t.held[id]
	s.holders--
	if s.holders > 0 {
		return
	}
	delete(t.held, id)
	t.touched[id] = true
	for _, term := range t.cached(s.spec) {
		t.cache.RemoveTerm(labelcache.SetID(id), term)
	}
}

// show says that so many more of the holders are shown in snapshots, or fewer.
func (t *setTable) show(id intent.SetID, by int) {
	s := t.held[id]
	was := s.shown > 0
	s.shown += by
	if was != (s.shown > 0) {
		t.touched[id] = true
	}
}

// members shows a set of the label cache as intent.Members.
type members struct{ labelcache.Members }

// All implements intent.Members.
func (m members) All() iter.Seq[intent.Endpoint] {
	return func(yield func(intent.Endpoint) bool) {
		for e := range m.Members.All() {
			if !yield(endpointOf(e)) {
				return
			}
		}
	}
}

// HasKey implements intent.Members.
func (m members) HasKey(k intent.Key) bool { return m.Members.HasKey(labelcache.Key(k)) }

func endpointOf(e *labelcache.Endpoint) intent.Endpoint {
	return intent.Endpoint{Key: intent.Key(e.Key), Addrs: e.Addrs, Shared: e.Shared, Node: e.Node}
}

func endpointsOf(list []*labelcache.Endpoint) []intent.Endpoint {
	if len(list) == 0 {
		return nil
	}
	out := make([]intent.Endpoint, len(list))
	for i, e := range list {
		out[i] = endpointOf(e)
	}
	return out
}
