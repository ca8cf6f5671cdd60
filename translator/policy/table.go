package policy

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/host"
	"github.com/netloom/netloom/translator/sets"
)

// Table holds the policies, namespaces and nodes, and what they translate to. It is not safe for concurrent use.
type Table struct {
	source     field.Source
	budget     budget.Limits
	ledger     *budget.Ledger
	sets       *sets.Table
	hosts      *host.Table
	dirty      *dirty.Queue
	problems   *object.Problems
	objects    map[object.Ref]metav1.Object // policies and nodes
	namespaces map[string]*corev1.Namespace
	translated map[object.Ref]*result
	nodes      map[object.Ref]bool
	withNodes  map[object.Ref]bool            // policies that name nodes as peers
	selecting  map[object.Ref]bool            // policies that depend on which namespaces they select
	withHost   map[string]map[object.Ref]bool // policies that name a DNS name as peer
	guards     guards
	common     sharing // what rules allow, peer by peer
	rests      sharing // what is left of rules without what is worth sharing of that
	partsOnly  bool    // see translator.Options
	opaque     bool    // there are opaque pods
}

// result is what one object became.
type result struct {
	policies []*intent.Policy
	node     *intent.Node // of a node
	refs     sets.Refs
	denies   [2]bool   // a rule denies, by direction
	nodes    bool      // it depends on the labels and addresses of nodes
	hosts    []string  // the DNS names that it depends on, each once
	held     sets.Refs // for rules that would exceed the budget of the namespace; snapshots do not show them
	// namespaces is the selector by which the policies list namespaces; nil if they do not.
	namespaces labels.Selector
	subject    labelcache.Term // of a NetworkPolicy
	divisible  []divisible
	parts      *parts // nil if no rule is divisible
}

// guards counts the results that may deny ingress, which a node has to be exempted from.
type guards struct {
	isolating int // that isolate
	denying   int // with a rule that denies
}

// NewTable makes an empty table.
func NewTable(
	source field.Source, limits budget.Limits, shares budget.Shares, s *sets.Table, hosts *host.Table, queue *dirty.Queue, problems *object.Problems,
	partsOnly bool,
) *Table {
	t := &Table{
		source: source, budget: limits, sets: s, hosts: hosts, dirty: queue, problems: problems,
		objects:    map[object.Ref]metav1.Object{},
		namespaces: map[string]*corev1.Namespace{},
		translated: map[object.Ref]*result{},
		nodes:      map[object.Ref]bool{},
		withNodes:  map[object.Ref]bool{},
		selecting:  map[object.Ref]bool{},
		withHost:   map[string]map[object.Ref]bool{},
		common:     newSharing(), rests: newSharing(), partsOnly: partsOnly,
	}
	t.ledger = budget.NewLedger(shares, s.Matching, t.markDirty)
	return t
}

// Policy returns a policy of any kind as it was last put; false if there is none.
func (t *Table) Policy(ref object.Ref) (metav1.Object, bool) {
	o, ok := t.objects[ref]
	return o, ok && object.IsPolicy(ref.Kind)
}

// PutPolicy adds or replaces a NetworkPolicy or a cluster-wide policy. It panics on an object of another kind.
func (t *Table) PutPolicy(o metav1.Object) {
	kind := object.KindNetworkPolicy
	if _, namespaced := o.(*networkingv1.NetworkPolicy); !namespaced {
		form, ok := clusterFormOf(o)
		if !ok {
			panic(fmt.Sprintf("policy: %T is not a policy", o))
		}
		kind = form.kind
	}
	t.put(object.Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}, o)
}

// HasNode reports whether there is a node of that name.
func (t *Table) HasNode(name string) bool {
	return t.nodes[object.Ref{Kind: object.KindNode, Name: name}]
}

// PutNode adds or replaces a node.
func (t *Table) PutNode(node *corev1.Node) {
	ref := object.Ref{Kind: object.KindNode, Name: node.Name}
	old, _ := t.objects[ref].(*corev1.Node)
	t.nodeChanged(old, node)
	t.nodes[ref] = true
	t.put(ref, node)
}

func (t *Table) put(ref object.Ref, o metav1.Object) {
	t.objects[ref] = o
	t.markDirty(ref)
}

func (t *Table) markDirty(ref object.Ref) { t.dirty.Add(dirty.Policies, ref) }

// Remove removes a policy or a node.
func (t *Table) Remove(ref object.Ref) {
	if node, ok := t.objects[ref].(*corev1.Node); ok {
		t.nodeChanged(node, nil)
	}
	delete(t.objects, ref)
	delete(t.nodes, ref)
	t.dirty.Add(dirty.Policies, ref)
}

// PutNamespace adds or replaces a namespace.
func (t *Table) PutNamespace(ns *corev1.Namespace) {
	old := t.namespaces[ns.Name]
	t.namespaces[ns.Name] = ns
	t.namespaceChanged(old, ns)
	if old == nil || !sameLogging(old.Annotations, ns.Annotations) {
		t.relog(ns.Name)
	}
	faults := field.Faults{Of: t.source.Origin(object.KindNamespace, ns)}
	loggingOf(ns.Annotations, &faults)
	t.problems.Set(object.Ref{Kind: object.KindNamespace, Name: ns.Name}, faults.List)
}

// RemoveNamespace removes a namespace.
func (t *Table) RemoveNamespace(name string) {
	t.namespaceChanged(t.namespaces[name], nil)
	delete(t.namespaces, name)
	t.problems.Set(object.Ref{Kind: object.KindNamespace, Name: name}, nil)
	t.relog(name)
}

// namespaceChanged causes policies to be translated again that now list a namespace, or no longer do.
func (t *Table) namespaceChanged(old, now *corev1.Namespace) {
	if old != nil && now != nil && labels.Equals(old.Labels, now.Labels) {
		return
	}
	for ref := range t.selecting {
		s := t.translated[ref].namespaces
		lists := func(ns *corev1.Namespace) bool { return ns != nil && s.Matches(labels.Set(ns.Labels)) }
		if lists(old) != lists(now) {
			t.markDirty(ref)
		}
	}
}

// relog causes the policies of a namespace to be translated again, because their logging may have changed.
func (t *Table) relog(namespace string) {
	for ref := range t.objects {
		if ref.Kind == object.KindNetworkPolicy && ref.Namespace == namespace {
			t.dirty.Add(dirty.Policies, ref)
		}
	}
}

// Translate translates what is dirty.
func (t *Table) Translate(next *intent.Builder) {
	was := t.guards.some()
	for t.dirty.Len(dirty.Policies) > 0 {
		for _, ref := range t.dirty.Take(dirty.Policies, t.compareAge) {
			t.translate(ref, next)
		}
		if now := t.guards.some(); now != was {
			was = now
			for ref := range t.nodes {
				t.dirty.Add(dirty.Policies, ref)
			}
		}
	}
	t.divideAll()
	t.sets.Measured()
}

func (t *Table) translate(ref object.Ref, next *intent.Builder) {
	old := t.translated[ref]
	var now *result
	var faults []object.Problem
	switch o := t.objects[ref].(type) {
	case *networkingv1.NetworkPolicy:
		now, faults = t.translatePolicy(o)
	case *corev1.Node:
		now, faults = t.translateNode(o)
	case nil:
		t.ledger.Remove(ref)
		if ref == opaqueRef() && t.opaque {
			now = t.isolateOpaque()
		}
	default:
		if form, ok := clusterFormOf(o); ok {
			now, faults = t.translateCluster(form)
		}
	}
	t.problems.Set(ref, faults)
	if now == nil {
		delete(t.translated, ref)
	} else {
		t.translated[ref] = now
	}
	t.sets.Replace(ref, old.setRefs(), now.setRefs())
	if old != nil {
		t.sets.Replace(ref, &old.held, nil)
	}
	t.share(ref, old, now)
	t.guards.count(old, -1)
	t.guards.count(now, 1)
	t.follow(ref, old, now)
	t.dirty.Add(dirty.Settlement, ref)
	putNode(next, old, now)
}

// setRefs returns what a result retains; nil if there is none.
func (r *result) setRefs() *sets.Refs {
	if r == nil {
		return nil
	}
	return &r.refs
}

// count adds or removes a result; nil counts for nothing.
func (g *guards) count(r *result, by int) {
	if r == nil {
		return
	}
	if r.refs.Isolates(intent.Ingress) {
		g.isolating += by
	}
	if r.denies[intent.Ingress] {
		g.denying += by
	}
}

// some reports which of the counts are not zero.
func (g *guards) some() [2]bool { return [2]bool{g.isolating > 0, g.denying > 0} }

// follow records which nodes, namespaces and DNS names a policy depends on, besides its own object.
func (t *Table) follow(ref object.Ref, old, now *result) {
	if now != nil && now.nodes {
		t.withNodes[ref] = true
	} else {
		delete(t.withNodes, ref)
	}
	if now != nil && now.namespaces != nil {
		t.selecting[ref] = true
	} else {
		delete(t.selecting, ref)
	}
	if now != nil {
		for _, name := range now.hosts {
			if t.withHost[name] == nil {
				t.withHost[name] = map[object.Ref]bool{}
			}
			t.withHost[name][ref] = true
			t.hosts.Use(name)
		}
	}
	if old == nil {
		return
	}
	for _, name := range old.hosts {
		if now == nil || !slices.Contains(now.hosts, name) {
			delete(t.withHost[name], ref)
		}
		if len(t.withHost[name]) == 0 {
			delete(t.withHost, name)
		}
		t.hosts.Release(name)
	}
}

func putNode(next *intent.Builder, old, now *result) {
	switch {
	case now != nil && now.node != nil:
		if old == nil || !reflect.DeepEqual(old.node, now.node) {
			next.PutNode(now.node)
		}
	case old != nil && old.node != nil:
		next.DropNode(old.node.Name)
	}
}

// Settle writes the policies of what was translated again, and of what is newly shown or no longer. Policies that did not
// change are left alone.
func (t *Table) Settle(next *intent.Builder, was *intent.Snapshot) {
	for _, ref := range t.dirty.Take(dirty.Settlement, object.Ref.Compare) {
		t.settle(ref, next, was)
	}
}

func (t *Table) settle(ref object.Ref, next *intent.Builder, was *intent.Snapshot) {
	now := t.translated[ref]
	wanted := map[intent.PolicyID]*intent.Policy{}
	if now != nil {
		t.sets.Show(&now.refs)
		if now.parts != nil {
			t.sets.ShowWith(&now.parts.refs, &now.refs)
		}
		if now.refs.Shown() {
			for _, p := range now.policies {
				wanted[p.ID] = p
			}
		}
	}
	of := intent.Origin{Cluster: t.source.Cluster, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	for _, d := range intent.Directions() {
		id := intent.NewPolicyID(of, d)
		switch had, p := was.Policy(id), wanted[id]; {
		case p == nil:
			next.DropPolicy(id)
		case had == nil || !reflect.DeepEqual(had, p):
			next.PutPolicy(p)
		}
	}
}

// Len counts what the table keeps.
func (t *Table) Len() int {
	return len(t.objects) + len(t.namespaces) + len(t.translated) + len(t.nodes) + len(t.withNodes) + len(t.selecting) +
		len(t.withHost) + t.common.len() + t.rests.len() + t.ledger.Len()
}
