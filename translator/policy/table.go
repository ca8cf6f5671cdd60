package policy

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/sets"
)

// Table holds the policies, namespaces and nodes, and what they translate to. It is not safe for concurrent use.
type Table struct {
	source     field.Source
	budget     budget.Limits
	sets       *sets.Table
	dirty      *dirty.Queue
	problems   field.Problems
	objects    map[object.Ref]metav1.Object // policies and nodes
	namespaces map[string]*corev1.Namespace
	translated map[object.Ref]*result
	nodes      map[object.Ref]bool
	isolating  int // results that isolate ingress
}

// result is what one object became.
type result struct {
	policies []*intent.Policy
	node     *intent.Node // of a node
	refs     sets.Refs
}

// NewTable makes an empty table.
func NewTable(source field.Source, limits budget.Limits, s *sets.Table, queue *dirty.Queue, problems field.Problems) *Table {
	return &Table{
		source: source, budget: limits, sets: s, dirty: queue, problems: problems,
		objects:    map[object.Ref]metav1.Object{},
		namespaces: map[string]*corev1.Namespace{},
		translated: map[object.Ref]*result{},
		nodes:      map[object.Ref]bool{},
	}
}

// Policy returns a NetworkPolicy as it was last put; nil if there is none.
func (t *Table) Policy(namespace, name string) *networkingv1.NetworkPolicy {
	np, _ := t.objects[object.Ref{Kind: object.KindNetworkPolicy, Namespace: namespace, Name: name}].(*networkingv1.NetworkPolicy)
	return np
}

// PutPolicy adds or replaces a policy.
func (t *Table) PutPolicy(np *networkingv1.NetworkPolicy) {
	t.put(object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}, np)
}

// HasNode reports whether there is a node of that name.
func (t *Table) HasNode(name string) bool {
	return t.nodes[object.Ref{Kind: object.KindNode, Name: name}]
}

// PutNode adds or replaces a node.
func (t *Table) PutNode(node *corev1.Node) {
	ref := object.Ref{Kind: object.KindNode, Name: node.Name}
	t.nodes[ref] = true
	t.put(ref, node)
}

func (t *Table) put(ref object.Ref, o metav1.Object) {
	t.objects[ref] = o
	t.dirty.Add(dirty.Policies, ref)
}

// Remove removes a policy or a node.
func (t *Table) Remove(ref object.Ref) {
	delete(t.objects, ref)
	delete(t.nodes, ref)
	t.dirty.Add(dirty.Policies, ref)
}

// PutNamespace adds or replaces a namespace.
func (t *Table) PutNamespace(ns *corev1.Namespace) {
	old := t.namespaces[ns.Name]
	t.namespaces[ns.Name] = ns
	if old == nil || !sameLogging(old.Annotations, ns.Annotations) {
		t.relog(ns.Name)
	}
	faults := field.Faults{Of: t.source.Origin(object.KindNamespace, ns)}
	loggingOf(ns.Annotations, &faults)
	t.problems.Set(object.Ref{Kind: object.KindNamespace, Name: ns.Name}, faults.List)
}

// RemoveNamespace removes a namespace.
func (t *Table) RemoveNamespace(name string) {
	delete(t.namespaces, name)
	t.problems.Set(object.Ref{Kind: object.KindNamespace, Name: name}, nil)
	t.relog(name)
}

// relog has the policies of a namespace translated again, because what they log may have changed.
func (t *Table) relog(namespace string) {
	for ref := range t.objects {
		if ref.Kind == object.KindNetworkPolicy && ref.Namespace == namespace {
			t.dirty.Add(dirty.Policies, ref)
		}
	}
}

// Translate translates what is dirty.
func (t *Table) Translate(next *intent.Builder) {
	wasIsolating := t.isolating > 0
	for t.dirty.Len(dirty.Policies) > 0 {
		for _, ref := range t.dirty.Take(dirty.Policies, object.Ref.Compare) {
			t.translate(ref, next)
		}
		if isolating := t.isolating > 0; isolating != wasIsolating {
			wasIsolating = isolating
			for ref := range t.nodes {
				t.dirty.Add(dirty.Policies, ref)
			}
		}
	}
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
	}
	t.problems.Set(ref, faults)
	if now == nil {
		delete(t.translated, ref)
	} else {
		t.translated[ref] = now
	}
	t.sets.Replace(ref, old.setRefs(), now.setRefs())
	t.isolating += now.isolatesIngress() - old.isolatesIngress()
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

// isolatesIngress returns 1 for a result that isolates ingress, otherwise 0.
func (r *result) isolatesIngress() int {
	if r != nil && r.refs.Isolates(intent.Ingress) {
		return 1
	}
	return 0
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
	return len(t.objects) + len(t.namespaces) + len(t.translated) + len(t.nodes)
}
