package reconcile

import (
	"iter"
	"maps"
	"sync"

	"github.com/netloom/netloom/pkg/intent"
)

// The bounds of a round, as far as there are snapshots on the way to stop at, and of how many of these are remembered. Beyond that, the last
// round handles the rest: a target that is slower than what changes would fall behind further and further. What one snapshot changes is never
// divided.
const (
	maxOps = 2000
	// maxChanges is how many sets, policies, load balancers and so on may differ. Each takes a few operations.
	maxChanges = 500
	maxSteps   = 32
)

// backlog are the snapshots on the way to the newest one. Each was the newest one, so a target may be in sync with any of them. A round goes
// as far as it is within its bounds, so that there are several commits while much changes. What changes the same again and again, as in a
// storm, counts and is written once.
type backlog struct {
	mu    sync.Mutex
	from  *intent.Snapshot // what the first step starts from; nil before the first
	steps []step
	until intent.Revision // up to where a plan has been cut
}

// step is what one round handles.
type step struct {
	to *intent.Snapshot
	// differs is what may differ from the step before. It is nil if the snapshots do not remember that: then the step is not joined with others.
	differs map[any]bool
}

// add adds the newest snapshot: to the last step if that leaves it small enough.
func (b *backlog) add(s *intent.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := step{to: b.from}
	n := len(b.steps)
	if n > 0 {
		last = b.steps[n-1]
	}
	if s == nil || last.to == nil || s.Revision() <= last.to.Revision() {
		return
	}
	changes, known := s.Since(last.to.Revision())
	switch {
	case n == maxSteps || n > 0 && known && last.takes(changes):
		b.steps[n-1].to = s
	case known:
		next := step{s, map[any]bool{}}
		for what := range differing(changes) {
			next.differs[what] = true
		}
		b.steps = append(b.steps, next)
	default:
		b.steps = append(b.steps, step{to: s})
	}
}

// takes adds changes to a step, unless that makes it too large.
func (s *step) takes(changes []intent.Change) bool {
	more := map[any]bool{}
	for what := range differing(changes) {
		if !s.differs[what] {
			more[what] = true
		}
	}
	if s.differs == nil || len(s.differs)+len(more) > maxChanges {
		return false
	}
	maps.Copy(s.differs, more)
	return true
}

// differing yields what changes list, with repetitions. Members that joined and left a set are a change of the set.
func differing(changes []intent.Change) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range changes {
			c := &changes[i]
			for j := range c.Members {
				if !yield(c.Members[j].ID) {
					return
				}
			}
			if !all(c.Sets, yield) || !all(c.Policies, yield) || !all(c.LoadBalancers, yield) || !all(c.Nodes, yield) ||
				!all(c.CNFs, yield) || !all(c.DeviceIntents, yield) {
				return
			}
		}
	}
}

// all yields each element of a list, until yield returns false.
func all[T any](list []T, yield func(any) bool) bool {
	for _, v := range list {
		if !yield(v) {
			return false
		}
	}
	return true
}

// take returns what a round brings a target to that has reached a snapshot, and how much may differ: the newest one, or as many steps towards
// it as maxChanges allows. Where a plan was cut, that is one step.
func (b *backlog) take(reached, newest *intent.Snapshot) (to *intent.Snapshot, changes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	differs := map[any]bool{}
	single := b.until > reached.Revision()
	for i := range b.steps {
		s := &b.steps[i]
		if s.to.Revision() <= reached.Revision() {
			continue
		}
		enough := to != nil && (single || s.differs == nil)
		more := 0
		for what := range s.differs {
			if !differs[what] {
				more++
			}
		}
		if enough || to != nil && len(differs)+more > maxChanges {
			return to, len(differs)
		}
		maps.Copy(differs, s.differs)
		to, single = s.to, single || s.differs == nil
	}
	if to == nil { // no steps: Wake comes after this, or with MinInterval all changes of an interval are one round
		to = newest
	}
	if known := changesBetween(reached, to); known > 0 {
		return to, known
	}
	return to, len(differs) // or a few more than do
}

// changesBetween counts what may differ between two snapshots; 0 if they do not remember that.
func changesBetween(from, to *intent.Snapshot) int {
	changes, _ := to.Since(from.Revision())
	differs := map[any]bool{}
	for what := range differing(changes) {
		differs[what] = true
	}
	return len(differs)
}

// cut returns the first step on the way to a snapshot for which the plan is too large; nil if there is none.
func (b *backlog) cut(reached, newest *intent.Snapshot) *intent.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	to := b.first(reached)
	if to == nil || to.Revision() >= newest.Revision() {
		return nil
	}
	b.until = newest.Revision()
	return to
}

// reach forgets the steps up to a snapshot.
func (b *backlog) reach(s *intent.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := 0
	for i < len(b.steps) && b.steps[i].to.Revision() <= s.Revision() {
		i++
	}
	b.from, b.steps = s, b.steps[i:]
}

// first returns the first step after a snapshot; nil if there is none.
func (b *backlog) first(after *intent.Snapshot) *intent.Snapshot {
	for i := range b.steps {
		if to := b.steps[i].to; to.Revision() > after.Revision() {
			return to
		}
	}
	return nil
}
