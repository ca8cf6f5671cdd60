package translator

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
)

// Snapshot is what the current objects ask of a network. Its cost depends on what changed since the last one; where
// nothing did, it is the last one.
func (t *Translator) Snapshot() *intent.Snapshot {
	next := t.snapshot.Next()
	var changes []labelcache.Change
	var replaced []*translation
	for {
		replaced = append(replaced, t.translateDirty(next)...)
		changes = append(changes, t.commit()...)
		if len(t.dirty) == 0 {
			break
		}
	}
	// What the old translations held is let go of last: a set that a new one holds as well never leaves the cache.
	for _, old := range replaced {
		t.release(old)
	}
	changes = append(changes, t.commit()...)
	t.settlePolicies(next, changes)

	t.translateServices(next)
	t.settleGateways(next)
	t.applySets(next, changes)
	next.SetUnknown(t.unknownAreas())
	next.SetFamilies(t.currentFamilies())
	next.SetEndpoints(t.endpointCount())
	t.missNode()
	t.snapshot = next.Commit()
	return t.snapshot
}

// translateDirty translates what changed and returns the translations that were replaced, still holding their sets.
func (t *Translator) translateDirty(next *intent.Builder) []*translation {
	var replaced []*translation
	wasIsolating := t.isolating > 0
	for len(t.dirty) > 0 {
		keys := slices.SortedFunc(maps.Keys(t.dirty), objectKey.compareRank)
		t.dirty = map[objectKey]bool{} // not cleared: that costs what the largest burst cost
		for _, key := range keys {
			if old := t.retranslate(key, next); old != nil {
				replaced = append(replaced, old)
			}
		}
		if isolating := t.isolating > 0; isolating != wasIsolating {
			wasIsolating = isolating
			t.dirtyNodes()
		}
	}
	return replaced
}

func (t *Translator) dirtyNodes() {
	for name := range t.nodes.byName {
		t.dirty[objectKey{KindNode, "", name}] = true
	}
}

func (t *Translator) retranslate(key objectKey, next *intent.Builder) (replaced *translation) {
	old := t.translated[key]
	var now *translation
	var faults []Problem
	switch o := t.sources[key].(type) {
	case *networkingv1.NetworkPolicy:
		now, faults = t.translatePolicy(o)
	case *corev1.Node:
		now, faults = t.translateNode(o)
	case *corev1.Service:
		now, faults = t.translateServiceRule(key, o)
	case nil:
	default:
		now, faults = t.translateEdge(key, o)
	}
	t.setProblems(key, faults)
	if now == nil {
		delete(t.translated, key)
	} else {
		t.translated[key] = now
		t.hold(key, now)
	}
	if old != nil {
		t.forget(key, old, now)
	}
	t.track(key, old, now)
	t.unsettled[key] = true
	putNode(next, old, now)
	putEdges(next, old, now)
	return old
}

// hold makes the effects of a translation that its sets do not have by themselves.
func (t *Translator) hold(key objectKey, now *translation) {
	for _, id := range now.watches {
		file(t.watchers, id, key)
	}
	if now.gate != "" {
		file(t.gated, now.gate, key)
	}
	for _, i := range now.isolates {
		t.cache.AddTerm(labelcache.SetID(intent.IsolatedSet(i.direction)), i.term)
		if i.direction == intent.Ingress {
			t.isolating++
		}
	}
}

// forget takes back what hold did for old, except what now does as well.
func (t *Translator) forget(key objectKey, old, now *translation) {
	for _, id := range old.watches {
		if now == nil || !slices.Contains(now.watches, id) {
			unfile(t.watchers, id, key)
		}
	}
	if old.gate != "" && (now == nil || now.gate != old.gate) {
		unfile(t.gated, old.gate, key)
	}
	for _, i := range old.isolates {
		if i.direction == intent.Ingress {
			t.isolating--
		}
	}
}

// file enters a key under a set.
func file(index map[intent.SetID]map[objectKey]bool, id intent.SetID, key objectKey) {
	if index[id] == nil {
		index[id] = map[objectKey]bool{}
	}
	index[id][key] = true
}

// unfile undoes file.
func unfile(index map[intent.SetID]map[objectKey]bool, id intent.SetID, key objectKey) {
	delete(index[id], key)
	if len(index[id]) == 0 {
		delete(index, id)
	}
}

// release lets go of the sets of a translation that was replaced.
func (t *Translator) release(old *translation) {
	t.show(old, false)
	for _, id := range old.holds {
		t.sets.release(id)
	}
	for _, i := range old.isolates {
		t.cache.RemoveTerm(labelcache.SetID(intent.IsolatedSet(i.direction)), i.term)
	}
}

func putNode(next *intent.Builder, old, now *translation) {
	switch {
	case now != nil && now.node != nil:
		if old == nil || !reflect.DeepEqual(old.node, now.node) {
			next.PutNode(now.node)
		}
	case old != nil && old.node != nil:
		next.DropNode(old.node.Name)
	}
}

// commit publishes the label cache and has those objects translated again whose named ports now resolve differently.
func (t *Translator) commit() []labelcache.Change {
	view, changes := t.cache.Commit()
	t.view = view
	for i := range changes {
		c := &changes[i]
		if !c.Numbers && (!c.Created || len(view.Numbers(c.ID)) == 0) {
			continue
		}
		for key := range t.watchers[intent.SetID(c.ID)] {
			t.dirty[key] = true
		}
	}
	return changes
}

// applySets brings the sets of the next snapshot in step with the label cache.
func (t *Translator) applySets(next *intent.Builder, changes []labelcache.Change) {
	touched := t.sets.touched
	t.sets.touched = map[intent.SetID]bool{}
	for _, d := range intent.Directions() {
		touched[intent.IsolatedSet(d)] = true
	}
	whole := map[intent.SetID]bool{} // created, or dropped
	for _, id := range slices.Sorted(maps.Keys(touched)) {
		was, now := t.snapshot.Set(id) != nil, t.currentSet(id)
		switch {
		case !was && now != nil:
			next.CreateSet(now)
			whole[id] = true
		case was && now == nil:
			next.DropSet(id)
			whole[id] = true
		}
	}
	for i := range changes {
		c := &changes[i]
		id := intent.SetID(c.ID)
		old := t.snapshot.Set(id)
		if old == nil || whole[id] || len(c.Joined)+len(c.Left) == 0 {
			continue
		}
		m, _ := t.view.Set(c.ID)
		next.UpdateMembers(members{m}, intent.SetDelta{
			ID:           id,
			Joined:       endpointsOf(c.Joined),
			Left:         endpointsOf(c.Left),
			AddrsAdded:   counted(old, c.AddrsAdded),
			AddrsRemoved: counted(old, c.AddrsRemoved),
		})
	}
}

// currentSet is a set as it is now, nil when nobody who is shown holds it.
func (t *Translator) currentSet(id intent.SetID) *intent.Set {
	held := t.sets.held[id]
	m, ok := t.view.Set(labelcache.SetID(id))
	if id == intent.IsolatedIngress || id == intent.IsolatedEgress {
		if !ok || t.node != "" && m.Len() == 0 {
			return nil
		}
		return &intent.Set{ID: id, Members: members{m}, Title: t.isolatedTitle(id)}
	}
	if held == nil || held.numbers || held.shown == 0 {
		return nil
	}
	set := &intent.Set{ID: id, Prefixes: held.spec.prefixes, Within: held.spec.within, Title: held.spec.title()}
	if ok {
		set.Members = members{m}
	}
	return set
}

func counted(set *intent.Set, addrs []netip.Addr) []netip.Addr {
	if len(set.Within) == 0 {
		return addrs
	}
	return slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return !set.Counts(a) })
}

func (t *Translator) currentFamilies() intent.Families {
	if t.families != 0 {
		return t.families
	}
	var f intent.Families
	v4, v6 := t.view.Families()
	if v4 {
		f |= intent.IPv4
	}
	if v6 {
		f |= intent.IPv6
	}
	return f
}
