package daemon

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/report"
)

// maxGaps is how many endpoints that are not found any more, or again, are looked up one by one. Beyond it every policy is
// looked at.
const maxGaps = 64

// gaps notes what changes in the coverage of targets mean for policies.
type gaps struct {
	missing map[string]backends.Gaps // by target
	keys    map[object.Key]bool      // endpoints that came to be missing, or are not any more
	sets    map[intent.SetID]bool    // that missing endpoints joined or left
	all     bool                     // there are too many for keys
}

// clear forgets what is to be looked at.
func (g *gaps) clear() { g.keys, g.sets, g.all = nil, nil, false }

// covered takes in that other endpoints of a target are missing than before.
func (b *book) covered(target string, was, now backends.Gaps) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moves++
	g := &b.gaps
	if g.missing == nil {
		g.missing = map[string]backends.Gaps{}
	}
	g.missing[target] = now
	if b.resting {
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
	b.ring()
}

// regrouped notes a set that endpoints which are missing joined or left. The lock is held.
func (b *book) regrouped(delta *intent.SetDelta) {
	if b.resting {
		return
	}
	for _, missing := range b.gaps.missing {
		if missing.Len() == 0 {
			continue
		}
		for _, list := range [][]intent.Endpoint{delta.Joined, delta.Left} {
			for i := range list {
				if missing.Has(list[i].Key) {
					if b.gaps.sets == nil {
						b.gaps.sets = map[intent.SetID]bool{}
					}
					b.gaps.sets[delta.ID] = true
				}
			}
		}
	}
}

// takeGaps takes what is noted of coverage.
func (b *book) takeGaps() gaps {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.gaps
	b.gaps.clear()
	return out
}

// markUncovered has the policies looked at that select endpoints which are missing since, or are not any more.
func (f *feedback) markUncovered() {
	g := f.takeGaps()
	snapshot := f.latest()
	if snapshot == nil || !g.all && len(g.keys)+len(g.sets) == 0 {
		return
	}
	concerned := map[object.Ref]bool{}
	for id, users := range f.users {
		if !g.all && !g.sets[id] && !hasAny(snapshot.Set(id), g.keys) {
			continue
		}
		for key := range users {
			concerned[key] = true
		}
	}
	for key, s := range f.said {
		if len(g.keys) > 0 && s.uncovered() { // who is not missing any more may have left its sets
			concerned[key] = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range concerned {
		f.markLocked(key, news)
		for _, id := range f.said[key].sets {
			f.resized(id)
		}
	}
}

// hasAny says whether one of some endpoints is a member of a set.
func hasAny(set *intent.Set, keys map[object.Key]bool) bool {
	for k := range keys {
		if set.HasKey(k) {
			return true
		}
	}
	return false
}

// uncovered says whether a policy was said not to be enforced on some pods.
func (s *said) uncovered() bool {
	if s.status == nil {
		return false
	}
	for i := range s.status.Targets {
		if s.status.Targets[i].Reason == report.ReasonPodsWithoutPort {
			return true
		}
	}
	return false
}
