package sets

import (
	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/host"
)

// localEndpoints is the set of the label cache with the endpoints on the translator's own node.
const localEndpoints labelcache.SetID = "local"

// measuredTerms is the set of the label cache with the terms that are measured.
const measuredTerms labelcache.SetID = "measured"

// kindSet is the kind of references under which sets are dirty.
const kindSet = "Set"

// Table counts the references to each set and keeps the label cache in sync. It is not safe for concurrent use.
type Table struct {
	cache     *labelcache.Cache
	view      labelcache.View // of the last commit
	node      string          // whose endpoints are local; "" if those of every node are
	dirty     *dirty.Queue
	retained  map[intent.SetID]*retained
	resolving map[intent.SetID]map[object.Ref]bool // objects that split rules by the numbers of a named-port set
	gated     map[intent.SetID]map[object.Ref]bool // what is shown only while the set has a member
	replaced  []*Refs                              // to be released
	measured  []labelcache.Term                    // see Measure
	hosts     *host.Table                          // the answers of DNS
	withHost  map[string]map[intent.SetID]bool     // the sets that have the addresses of a name
	keep      bool                                 // see KeepAll
}

// retained is a set that some translated object uses.
type retained struct {
	spec    Spec
	count   int      // Refs that retain it
	whole   int      // those of them for which it needs members of its own, see RetainUnion
	unions  []*union // what it is the union of for the others, sorted
	shown   int      // Refs that a snapshot shows; it has the set as long as there is one
	numbers bool     // retained only to learn what a named port resolves to: not part of a snapshot
}

// NewTable makes an empty table over a cache and the answers of DNS. Node is the own node, "" if there is none.
func NewTable(cache *labelcache.Cache, hosts *host.Table, queue *dirty.Queue, cluster, node string) *Table {
	if node != "" {
		cache.AddTerm(localEndpoints, labelcache.NewTerm(labelcache.Selection{Cluster: cluster, Node: node}))
	}
	return &Table{
		cache: cache, view: cache.View(), node: node, dirty: queue,
		retained:  map[intent.SetID]*retained{},
		resolving: map[intent.SetID]map[object.Ref]bool{},
		gated:     map[intent.SetID]map[object.Ref]bool{},
		hosts:     hosts, withHost: map[string]map[intent.SetID]bool{},
	}
}

// KeepAll has the table keep what objects will retain until it is gone itself, so that the endpoints that a set or a term selects are looked
// for once, however many objects are translated and removed one after another. Snapshots show no set that is kept only, but the sets with the
// subjects of many objects still have those of objects that are gone.
func (t *Table) KeepAll() { t.keep = true }

// HostChanged marks the sets with the addresses of a DNS name, which are then compared with its current addresses.
func (t *Table) HostChanged(name string) {
	for id := range t.withHost[name] {
		t.touch(id)
	}
}

// Matches returns the terms that match another number of endpoints than when it was last called: see labelcache.Cache.Matches.
func (t *Table) Matches() []labelcache.Matches { return t.cache.Matches() }

// Measure makes the label cache match a term until Measured, so that Matches includes it before a set with the term is retained.
func (t *Table) Measure(term labelcache.Term) {
	t.cache.AddTerm(measuredTerms, term)
	t.measured = append(t.measured, term)
}

// Measured ends that for all terms.
func (t *Table) Measured() {
	if t.keep {
		t.measured = nil
		return
	}
	for _, term := range t.measured {
		t.cache.RemoveTerm(measuredTerms, term)
	}
	t.measured = nil
}

// Matching returns that number as Matches last reported it.
func (t *Table) Matching(term string) int { return t.cache.Matching(term) }

// View returns the view of the label cache at the last commit.
func (t *Table) View() labelcache.View { return t.view }

// IsOwn reports whether pods of a node are subjects of policies.
func (t *Table) IsOwn(node string) bool { return t.node == "" || node == t.node }

// Subjects returns the set of the subjects that terms select.
func (t *Table) Subjects(terms []labelcache.Term) Spec {
	return Spec{Terms: terms, local: t.node != ""}
}

// EndpointCount counts the endpoints that can be subjects.
func (t *Table) EndpointCount() int {
	if t.node == "" {
		return t.view.EndpointCount()
	}
	m, _ := t.view.Set(localEndpoints)
	return m.Len()
}

// Len counts the sets and everything else that is kept for objects.
func (t *Table) Len() int {
	return len(t.retained) + len(t.resolving) + len(t.gated) + len(t.replaced) + len(t.withHost)
}

// own narrows a term to endpoints that are subjects.
func (t *Table) own(term labelcache.Term) labelcache.Term {
	if t.node == "" {
		return term
	}
	return term.On(t.node)
}

// cached returns the terms of spec for the label cache.
func (t *Table) cached(spec Spec) []labelcache.Term {
	if !spec.local {
		return spec.Terms
	}
	terms := make([]labelcache.Term, len(spec.Terms))
	for i, term := range spec.Terms {
		terms[i] = term.On(t.node)
	}
	return terms
}

func (t *Table) retain(id intent.SetID, spec Spec, numbers bool) intent.SetID {
	s := t.ref(id, spec)
	s.numbers = numbers
	if s.whole++; s.whole > 1 {
		return id
	}
	if t.keep { // the table is one more that retains the set, and never releases it
		s.count++
		s.whole++
	}
	t.touch(id)
	for _, term := range t.cached(spec) {
		t.cache.AddTerm(labelcache.SetID(id), term)
	}
	for _, name := range spec.Hosts {
		if t.withHost[name] == nil {
			t.withHost[name] = map[intent.SetID]bool{}
		}
		t.withHost[name][id] = true
	}
	return id
}

func (t *Table) release(id intent.SetID) {
	s := t.retained[id]
	if s.whole--; s.whole == 0 {
		t.touch(id)
		for _, term := range t.cached(s.spec) {
			t.cache.RemoveTerm(labelcache.SetID(id), term)
		}
		for _, name := range s.spec.Hosts {
			if delete(t.withHost[name], id); len(t.withHost[name]) == 0 {
				delete(t.withHost, name)
			}
		}
	}
	t.unref(id, s)
}

// ref counts one more that retains a set.
func (t *Table) ref(id intent.SetID, spec Spec) *retained {
	s := t.retained[id]
	if s == nil {
		s = &retained{spec: spec}
		t.retained[id] = s
	}
	s.count++
	return s
}

// unref drops one of them; the last one deletes the set.
func (t *Table) unref(id intent.SetID, s *retained) {
	if s.count--; s.count == 0 {
		delete(t.retained, id)
	}
}

func (t *Table) touch(id intent.SetID) {
	t.dirty.Add(dirty.Sets, object.Ref{Kind: kindSet, Name: string(id)})
}
