package translator

import (
	"math"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/field"
)

// Snapshot returns what the current objects require of a network. It depends on the objects alone. Its cost depends on what changed since
// the last one; if nothing did, it returns the last one.
func (t *Translator) Snapshot() *intent.Snapshot { return t.next(math.MaxInt) }

// Interim returns a snapshot with the same meaning as that of Snapshot, whose cost depends on what the changed objects have themselves, whatever
// others have in common with them. Rules of policies that did not change may still have the parts (intent.Rule.Parts) that they had before.
// Those that have waited longest are divided again, with that many peers together, and at least one of them unless peers is zero. Once none
// wait, the snapshot is that of Snapshot.
func (t *Translator) Interim(peers int) *intent.Snapshot { return t.next(peers) }

// Waiting counts the policies whose rules wait to be divided again, see Interim.
func (t *Translator) Waiting() int { return t.policies.Waiting() }

// next makes a snapshot in which the policies with that many peers no longer wait; math.MaxInt is all.
func (t *Translator) next(peers int) *intent.Snapshot {
	next := t.snapshot.Next()
	var changes []labelcache.Change
	t.limitPods()
	t.limitRemotes()
	t.policies.DivideWaiting(peers)
	for {
		t.policies.Translate(next)
		t.sdwan.Translate(next)
		changes = append(changes, t.sets.Commit()...)
		t.policies.Balance()
		if peers == math.MaxInt {
			t.policies.DivideWaiting(peers)
		}
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
	if t.ahead.of == nil {
		t.policies.Forget()
	}
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
