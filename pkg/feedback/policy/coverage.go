package policy

import (
	"maps"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// maxGaps is how many endpoints that became missing, or were found again, are looked up individually. Beyond it every
// policy is queued.
const maxGaps = 64

// gaps are changes in the coverage of targets that the worker has not processed.
type gaps struct {
	missing map[string]backends.Gaps // by target
	keys    map[object.Key]bool      // endpoints that became missing, or are no longer missing
	sets    map[intent.SetID]bool    // that missing endpoints joined or left
	all     bool                     // there are too many for keys
}

// clear drops the changes.
func (g *gaps) clear() { g.keys, g.sets, g.all = nil, nil, false }

// Covered records that the missing endpoints of a target have changed.
func (t *tracker) Covered(target string, was, now backends.Gaps) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.move()
	g := &t.gaps
	if g.missing == nil {
		g.missing = map[string]backends.Gaps{}
	}
	g.missing[target] = now
	if t.queue == nil {
		return
	}
	if g.keys == nil {
		g.keys = map[object.Key]bool{}
	}
	for _, lists := range [][2]backends.Gaps{{was, now}, {now, was}} {
		for gap := range lists[0].All() {
			if len(g.keys) > maxGaps {
				break
			}
			if !lists[1].Has(gap.Endpoint) {
				g.keys[gap.Endpoint] = true
			}
		}
	}
	g.all = g.all || len(g.keys) > maxGaps
	t.do(lookAround, 0)
}

// regrouped records a set that missing endpoints joined or left. The lock is held.
func (t *tracker) regrouped(delta *intent.SetDelta) {
	if t.queue == nil {
		return
	}
	for _, missing := range t.gaps.missing {
		if missing.Len() == 0 {
			continue
		}
		for _, list := range [][]intent.Endpoint{delta.Joined, delta.Left} {
			for i := range list {
				if missing.Has(list[i].Key) {
					if t.gaps.sets == nil {
						t.gaps.sets = map[intent.SetID]bool{}
					}
					t.gaps.sets[delta.ID] = true
				}
			}
		}
	}
}

// takeGaps takes the changes.
func (t *tracker) takeGaps() gaps {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.gaps
	t.gaps.clear()
	return out
}

// lookAtGaps queues the policies that select endpoints which became missing or were found again.
func (c *Controller) lookAtGaps(snapshot *intent.Snapshot) {
	g := c.takeGaps()
	if !g.all && len(g.keys)+len(g.sets) == 0 {
		return
	}
	concerned := map[object.Ref]bool{}
	for id, users := range c.users {
		if g.all || g.sets[id] || hasAny(snapshot.Set(id), g.keys) {
			maps.Copy(concerned, users)
		}
	}
	for ref, r := range c.reported {
		if len(g.keys) > 0 && r.uncovered() { // an endpoint that was found again may have left its sets
			concerned[ref] = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for ref := range concerned {
		c.addFirst(ref)
		if r := c.reported[ref]; r != nil {
			for _, id := range r.sets {
				c.resized(id)
			}
		}
	}
}

// hasAny reports whether any of some endpoints is a member of a set.
func hasAny(set *intent.Set, keys map[object.Key]bool) bool {
	for k := range keys {
		if set.HasKey(k) {
			return true
		}
	}
	return false
}

// uncovered reports whether a policy was reported not to be enforced on some pods.
func (r *reported) uncovered() bool {
	if r.status == nil {
		return false
	}
	for i := range r.status.Targets {
		if r.status.Targets[i].Reason == report.ReasonPodsWithoutPort {
			return true
		}
	}
	return false
}
