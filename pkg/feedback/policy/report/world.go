package report

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Target is the state of a target, and what others did to it.
type Target struct {
	state.Target

	Name string
	// Disturbed is what others changed in it and nothing has repaired, or what they contest, as Disturbance describes; nil if
	// there is nothing.
	Disturbed   *backends.Foreign
	Disturbance string
	// Missing lists the endpoints with an address that it does not know, so no policy is enforced on them.
	Missing backends.Gaps
	// Rows counts the rows that the policies of an origin need; nil if they are not counted.
	Rows func(*intent.Snapshot, intent.Origin) int
}

// Facts is what a World is made of.
type Facts struct {
	state.Facts

	Targets []Target
	Cluster string // of the snapshot's origins
	// Nodes are those with a netloom of their own, which reports on its own targets: each of these nodes has to report. It
	// is empty if there is only one netloom.
	Nodes []string
	// Staged are the policies that are staged, sorted: no target enforces them, and that is in order.
	Staged []object.Ref
	// Tried is what was seen of the connections that staged policies are about, as text; nothing for a policy without.
	Tried map[object.Ref]string
}

// World is what is known at one moment. It is not safe for concurrent use: it caches what it has worked out.
type World struct {
	Facts
	targets  []target
	problems map[object.Ref][]v1alpha1.PolicyProblem
	sizes    map[intent.SetID]size // of the sets counted so far
	partial  bool                  // the policies of a snapshot select the pods of one node only
}

// target is a target with what it may lack.
type target struct {
	Target
	lag    state.Lag
	judged map[object.Ref]judgment // policies judged so far for pods
}

// NewWorld makes a World of facts.
func NewWorld(f Facts) *World {
	w := &World{Facts: f, problems: map[object.Ref][]v1alpha1.PolicyProblem{}, sizes: map[intent.SetID]size{}, partial: len(f.Nodes) > 0}
	for _, t := range f.Targets {
		w.targets = append(w.targets, newTarget(t, f.Lag(&t.Target)))
	}
	for ref, problems := range f.ProblemsOf() {
		for _, p := range problems {
			w.problems[ref] = append(w.problems[ref], v1alpha1.PolicyProblem{Field: p.Field, Message: p.Message})
		}
	}
	return w
}

func newTarget(t Target, lag state.Lag) target {
	lag.All = lag.All || lag.Behind.Families && t.Trouble != ""
	return target{Target: t, lag: lag}
}

// Alone returns w without the other nodes: a status of it only covers the targets of w.
func (w *World) Alone() *World {
	out := *w
	out.Nodes = nil
	return &out
}

// isStaged reports whether a policy is staged.
func (w *World) isStaged(p Policy) bool {
	_, staged := slices.BinarySearchFunc(w.Staged, p.Key(), object.Ref.Compare)
	return staged
}

// Pending reports whether it is too early to report anything, because some target has not been read and may still answer
// soon.
func (w *World) Pending() bool {
	for i := range w.targets {
		if t := &w.targets[i]; t.Revision == 0 && !t.Stale {
			return true
		}
	}
	return false
}

// size is how many members a set has, and how many addresses these have.
type size struct{ pods, addresses int32 }

// size counts the members of a set, and their addresses.
func (w *World) size(set *intent.Set) size {
	n, ok := w.sizes[set.ID]
	if !ok {
		n = size{count(set.Len()), count(len(set.Addrs()))}
		w.sizes[set.ID] = n
	}
	return n
}

// count returns n as the API stores it.
func count(n int) int32 { return int32(min(n, 1<<30)) } //nolint:gosec // it fits, as just seen
