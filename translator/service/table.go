package service

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/field"
)

// service is a Service with everything that belongs to it, and what it was translated to.
type service struct {
	ref     object.Ref
	object  *corev1.Service      // of a ServiceImport, the equivalent Service; nil while only its slices are known
	slices  int                  // how many it has
	offers  map[pool]*offers     // of these
	created metav1.Time          // its creation time among the owners
	rights  rights               // to what is wanted
	wanted  *intent.LoadBalancer // every frontend that it requests, whichever service owns it; nil means none
	over    bool                 // exceeds its budget: its frontends have no backends
	denied  map[intent.Families][]netip.Prefix
	faults  []object.Problem     // of the object itself
	current *intent.LoadBalancer // what the snapshot has; nil means none
}

// Table holds the Services and their slices, and what they translate to. A change marks only one Service dirty. It is not
// safe for concurrent use.
type Table struct {
	source   field.Source
	budget   budget.Limits
	ledger   *budget.Ledger
	dirty    *dirty.Queue
	problems *object.Problems
	nodes    nodes
	byRef    map[object.Ref]*service
	slices   map[object.Ref]*endpointSlice // by their own references
	owners   owners
	onNodes  map[object.Ref]bool // those with node ports
}

// NewTable makes an empty table.
func NewTable(source field.Source, limits budget.Limits, shares budget.Shares, queue *dirty.Queue, problems *object.Problems) *Table {
	t := &Table{
		source: source, budget: limits, dirty: queue, problems: problems,
		nodes:   nodes{byName: map[string]*intent.Node{}},
		byRef:   map[object.Ref]*service{},
		slices:  map[object.Ref]*endpointSlice{},
		owners:  newOwners(),
		onNodes: map[object.Ref]bool{},
	}
	t.ledger = budget.NewLedger(shares, nil, func(ref object.Ref) { t.dirty.Add(dirty.LoadBalancers, ref) })
	return t
}

// Put adds or replaces a Service.
func (t *Table) Put(o *corev1.Service) {
	t.at(object.Ref{Kind: object.KindService, Namespace: o.Namespace, Name: o.Name}).object = o
}

// Remove removes a Service.
func (t *Table) Remove(ref object.Ref) { t.at(ref).object = nil }

// PutNode adds or replaces a node; nil removes it.
func (t *Table) PutNode(name string, node *intent.Node) {
	if !t.nodes.put(name, node) {
		return
	}
	for ref := range t.onNodes {
		t.dirty.Add(dirty.LoadBalancers, ref)
	}
}

// Len counts what the table keeps for Services.
func (t *Table) Len() int {
	return len(t.byRef) + len(t.slices) + t.owners.Len() + len(t.onNodes) + t.ledger.Len()
}

// at returns the service of a reference, creating it if it is not known yet. It becomes dirty.
func (t *Table) at(ref object.Ref) *service {
	s := t.byRef[ref]
	if s == nil {
		s = &service{ref: ref, offers: map[pool]*offers{}}
		t.byRef[ref] = s
	}
	t.dirty.Add(dirty.LoadBalancers, ref)
	return s
}

// file files a slice under its services; nil removes it.
func (t *Table) file(key object.Ref, now *endpointSlice) {
	old := t.slices[key]
	var before, after []object.Ref
	if old != nil {
		before = old.services
		delete(t.slices, key)
	}
	if now != nil {
		after = now.services
		t.slices[key] = now
	}
	for _, ref := range before {
		if s := t.at(ref); slices.Contains(after, ref) {
			s.exchange(old, now)
		} else {
			s.slices--
			s.exchange(old, nil)
		}
	}
	for _, ref := range after {
		if !slices.Contains(before, ref) {
			s := t.at(ref)
			s.slices++
			s.exchange(nil, now)
		}
	}
}

// Translate translates the services that changed and writes those whose result differs. All of them request their frontends before any of
// them gets one, so no frontend is ever written for two.
func (t *Table) Translate(next *intent.Builder) {
	settle, among := map[*service]bool{}, contested{}
	for t.dirty.Len(dirty.LoadBalancers) > 0 {
		for _, ref := range t.dirty.Take(dirty.LoadBalancers, t.compareAge) {
			s := t.byRef[ref]
			settle[s] = true
			t.translate(s, among)
		}
		t.ledger.Settle()
	}
	t.ledger.Report(t.problems, t.source.Cluster, "services", "Services")
	for key := range among {
		for _, rival := range t.owners.All(key) {
			settle[rival.service] = true
		}
	}
	known := standings{}
	for _, s := range slices.SortedFunc(maps.Keys(settle), func(a, b *service) int { return a.ref.Compare(b.ref) }) {
		t.settle(s, known, next)
	}
}

// translate determines the places that s wants and requests them. Places where others are affected are recorded as contested.
func (t *Table) translate(s *service, among contested) {
	was, by := s.wanted, s.rights
	var now translation
	var created metav1.Time
	if s.object != nil {
		now, created = t.frontends(s), s.object.CreationTimestamp
	} else {
		t.ledger.Remove(s.ref)
	}
	s.wanted = now.balancer()
	s.denied, s.faults, s.over, s.rights = now.denies, now.List, now.over, now.rights
	for of, o := range s.offers {
		if !now.pools[of] {
			o.forget()
		}
	}
	delete(t.onNodes, s.ref)
	if now.onNodes {
		t.onNodes[s.ref] = true
	}
	t.owners.replace(s, was, by, created, among)
}

// settle writes the frontends that s owns, if they differ from what was written before.
func (t *Table) settle(s *service, known standings, next *intent.Builder) {
	won, lost := t.owners.settle(s, known)
	t.problems.Set(s.ref, append(slices.Clone(s.faults), lost...))
	switch {
	case won == nil && s.current != nil:
		next.DropLoadBalancer(s.current.ID)
		s.current = nil
	case !won.Equal(s.current):
		next.PutLoadBalancer(won)
		s.current = won
	}
	if s.object == nil && s.slices == 0 {
		delete(t.byRef, s.ref)
	}
}
