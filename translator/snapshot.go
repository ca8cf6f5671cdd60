package translator

import (
	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/field"
)

// Snapshot returns what the current objects require of a network. Its cost depends on what changed since the last one;
// if nothing did, it returns the last one.
func (t *Translator) Snapshot() *intent.Snapshot {
	next := t.snapshot.Next()
	var changes []labelcache.Change
	t.limitPods()
	t.limitRemotes()
	for {
		t.policies.Translate(next)
		t.sdwan.Translate(next)
		changes = append(changes, t.sets.Commit()...)
		t.policies.Balance()
		if t.dirty.Len(dirty.Policies, dirty.Parts, dirty.Resources) == 0 {
			break
		}
	}
	// Replaced sets are released last: a set that is used again never leaves the cache.
	t.sets.Release()
	changes = append(changes, t.sets.Commit()...)

	t.policies.ReportBudgets()
	t.policies.Settle(next, t.snapshot)
	t.services.Translate(next)
	t.sdwan.Settle(next, t.snapshot)
	t.sets.Apply(next, t.snapshot, changes)
	next.SetUnknown(t.sdwan.Unknown())
	next.SetFamilies(t.currentFamilies())
	next.SetAhead(t.ahead.announced(t.snapshot))
	t.missNode()
	t.reportOverlaps()
	t.snapshot = next.Commit()
	return t.snapshot
}

func (t *Translator) currentFamilies() intent.Families {
	if t.families != 0 {
		return t.families
	}
	var f intent.Families
	v4, v6 := t.sets.View().Families()
	if v4 {
		f |= intent.IPv4
	}
	if v6 {
		f |= intent.IPv6
	}
	return f
}

// missNode reports an own node that does not exist: then no pod is a subject, which is probably not intended.
func (t *Translator) missNode() {
	if t.node == "" {
		return
	}
	var faults field.Faults
	if !t.policies.HasNode(t.node) && t.sets.EndpointCount() == 0 {
		faults.Of = intent.Origin{Cluster: t.source.Cluster, Kind: object.KindNode, Name: t.node}
		faults.Add("", "there is no such node and no pod on it, so no policy selects a pod here: expected the name of a node")
	}
	t.problems.Set(object.Ref{Kind: "own node"}, faults.List) // a reference that no object has
}
