package policy

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	*translator

	dirty      *dirty.Queue
	problems   *object.Problems
	dependents *dependents
	divider    *divider
	translated map[object.Ref]*result
	guards     guards
	staged     stagedPolicies
	opaque     bool // there are opaque pods
}

// Form is in which form rules are wanted: see translator.Options.
type Form struct{ PartsOnly, Undivided bool }

// NewTable makes an empty table.
func NewTable(
	source field.Source, limits budget.Limits, shares budget.Shares, s *sets.Table, hosts *host.Table, queue *dirty.Queue, problems *object.Problems,
	form Form,
) *Table {
	t := &Table{dirty: queue, problems: problems, divider: newDivider(s, queue, form), translated: map[object.Ref]*result{}}
	t.staged = newStagedPolicies()
	t.dependents = newDependents(hosts, t.markDirty)
	t.translator = &translator{source: source, objects: newObjects(), budgets: newBudgets(limits, shares, s, t.markDirty), sets: s, hosts: hosts}
	return t
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

// PutNode adds or replaces a node.
func (t *Table) PutNode(node *corev1.Node) {
	ref := object.Ref{Kind: object.KindNode, Name: node.Name}
	t.dependents.nodeChanged(t.objects.nodes[ref], node)
	t.objects.nodes[ref] = node
	t.put(ref, node)
}

func (t *Table) put(ref object.Ref, o metav1.Object) {
	t.objects.byRef[ref] = o
	t.changed(ref)
}

// changed causes a policy or a node to be translated again, and the staged policies that are to replace it.
func (t *Table) changed(ref object.Ref) {
	t.markDirty(ref)
	for staged := range t.staged.replacing[ref] {
		t.markDirty(staged)
	}
}

// Remove removes a policy or a node.
func (t *Table) Remove(ref object.Ref) {
	if node := t.objects.nodes[ref]; node != nil {
		t.dependents.nodeChanged(node, nil)
	}
	t.objects.remove(ref)
	t.changed(ref)
}

// PutNamespace adds or replaces a namespace.
func (t *Table) PutNamespace(ns *corev1.Namespace) {
	old := t.objects.namespaces[ns.Name]
	t.objects.namespaces[ns.Name] = ns
	t.dependents.namespaceChanged(old, ns)
	if old == nil || !sameLogging(old.Annotations, ns.Annotations) || !sameEnforcement(old.Annotations, ns.Annotations) {
		t.annotated(ns.Name)
	}
	faults := field.Faults{Of: t.source.Origin(object.KindNamespace, ns)}
	loggingOf(ns.Annotations, &faults)
	checkEnforcement(ns.Annotations, "its policies are", &faults)
	t.problems.Set(object.Ref{Kind: object.KindNamespace, Name: ns.Name}, faults.List)
}

// RemoveNamespace removes a namespace.
func (t *Table) RemoveNamespace(name string) {
	t.dependents.namespaceChanged(t.objects.namespaces[name], nil)
	delete(t.objects.namespaces, name)
	t.problems.Set(object.Ref{Kind: object.KindNamespace, Name: name}, nil)
	t.annotated(name)
}

// annotated causes the policies of a namespace to be translated again, because its annotations say how they are logged and whether they are
// enforced.
func (t *Table) annotated(namespace string) {
	for ref := range t.objects.byRef {
		if ref.Kind == object.KindNetworkPolicy && ref.Namespace == namespace {
			t.markDirty(ref)
		}
	}
}

// HostChanged causes the policies that contain a DNS name to be translated again: it resolves now or no longer, or its cost has changed.
// Their sets follow its addresses without this.
func (t *Table) HostChanged(name string) { t.dependents.hostChanged(name) }

// IsolateOpaque isolates opaque pods in both directions while there are any, because any policy might select them.
func (t *Table) IsolateOpaque(some bool) {
	if t.opaque != some {
		t.opaque = some
		t.markDirty(opaqueRef())
	}
}

func (t *Table) markDirty(ref object.Ref) { t.dirty.Add(dirty.Policies, ref) }

// Translate translates what is dirty.
func (t *Table) Translate(next *intent.Builder) {
	was := t.guards.some()
	for t.dirty.Len(dirty.Policies) > 0 {
		for _, ref := range t.dirty.Take(dirty.Policies, t.objects.compareAge) {
			t.replace(ref, t.translate(ref), next)
		}
		if now := t.guards.some(); now != was {
			was = now
			for ref := range t.objects.nodes {
				t.markDirty(ref)
			}
		}
	}
	t.divider.divideAll(t.translated)
	t.sets.Measured()
}

// DivideWaiting has Translate divide again the rules of policies that wait because another policy, with which they share peers, has changed:
// those that have waited longest, up to that many peers in total. At least one is divided, unless peers is zero.
func (t *Table) DivideWaiting(peers int) { t.divider.divideWaiting(t.translated, peers) }

// Waiting counts the policies that wait for this.
func (t *Table) Waiting() int { return t.divider.waiting.len() }

// translate translates one object and reports its problems. It returns nil if the object does not exist any more.
func (t *Table) translate(ref object.Ref) *result {
	var out *result
	var faults []object.Problem
	staged := t.objects.isStaged(ref)
	t.staged.set(ref, staged, t.objects.stagedFor(ref))
	if staged {
		t.budgets.ledger.Remove(ref)
		out, faults = t.logStaged(ref)
		t.problems.Set(ref, faults)
		return out
	}
	switch o := t.objects.byRef[ref].(type) {
	case *networkingv1.NetworkPolicy:
		out, faults = t.translateNetworkPolicy(o)
	case *corev1.Node:
		out, faults = t.translateNode(o, t.guards)
	case nil:
		t.budgets.ledger.Remove(ref)
		if ref == opaqueRef() && t.opaque {
			out = t.isolateOpaque()
		}
	default:
		if form, ok := clusterFormOf(o); ok {
			out, faults = t.translateClusterPolicy(form)
		}
	}
	t.problems.Set(ref, faults)
	return out
}

// replace replaces what an object translated to, and everything that follows from it.
func (t *Table) replace(ref object.Ref, now *result, next *intent.Builder) {
	old := t.translated[ref]
	if now == nil {
		delete(t.translated, ref)
	} else {
		t.translated[ref] = now
	}
	t.sets.Replace(ref, old.setRefs(), now.setRefs())
	if old != nil {
		t.sets.Replace(ref, &old.held, nil)
	}
	t.divider.share(ref, old, now)
	t.guards.count(old, -1)
	t.guards.count(now, 1)
	t.dependents.follow(ref, old, now)
	t.dirty.Add(dirty.Settlement, ref)
	putNode(next, old, now)
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

// Balance applies the budgets of namespaces to what the policies select now. Policies that no longer fit, and those that now fit, are
// translated again.
func (t *Table) Balance() { t.budgets.balance() }

// ReportBudgets reports the namespaces whose policies exceed their budget.
func (t *Table) ReportBudgets() {
	t.budgets.ledger.Report(t.problems, t.source.Cluster, "policies", "policies")
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

// Policy returns a policy of any kind as it was last put; false if there is none.
func (t *Table) Policy(ref object.Ref) (metav1.Object, bool) {
	o, ok := t.objects.byRef[ref]
	return o, ok && object.IsPolicy(ref.Kind)
}

// Staged lists the policies that are staged as of the last translation, sorted. It must not be changed.
func (t *Table) Staged() []object.Ref { return t.staged.list() }

// HasNode reports whether there is a node of that name.
func (t *Table) HasNode(name string) bool {
	return t.objects.nodes[object.Ref{Kind: object.KindNode, Name: name}] != nil
}

// Estimate returns the approximate cost of a NetworkPolicy, from its size alone. One that exceeds its budget costs little.
func (t *Table) Estimate(np *networkingv1.NetworkPolicy) int64 { return t.budgets.estimate(np) }

// EstimateClusterWide does so for a cluster-wide policy. Other objects cost little.
func (t *Table) EstimateClusterWide(o metav1.Object) int64 {
	form, ok := clusterFormOf(o)
	if !ok {
		return budget.Estimate(budget.Prefixes, 0)
	}
	return t.budgets.estimateClusterWide(form)
}

// Len counts what the table keeps.
func (t *Table) Len() int {
	return t.objects.len() + len(t.translated) + t.dependents.len() + t.divider.len() + t.budgets.ledger.Len() + len(t.staged.refs)
}
