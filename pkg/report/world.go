package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Target is how a target stands. Revision is zero for one that has agreed with nothing yet.
type Target struct {
	Name     string
	Revision intent.Revision // the snapshot that it agreed with last
	// Trouble says why the last round did not end well; "" when it did.
	Trouble string
	// Stale says that it has been in trouble for so long that what it holds is not known any more.
	Stale bool
	Skips []backends.Skip // what it cannot express
	// Missing are the endpoints with an address that it does not know, so that no policy is enforced on them.
	Missing backends.Gaps
	// Rows counts the rows that the policies of an origin are in need of; nil where nobody counts.
	Rows func(*intent.Snapshot, intent.Origin) int
}

// Facts is what a World is made of.
type Facts struct {
	Snapshot *intent.Snapshot // not older than any revision in Targets
	Targets  []Target
	Problems []object.Problem
	Cluster  string // of the snapshot's origins
	// Nodes are those that have a netloom each, which says for itself how its targets stand: of each of these nodes something
	// has to be known. It is empty where there is one netloom only.
	Nodes []string
	// Now is the time to write down, in whole seconds as the API keeps it.
	Now metav1.Time
}

// World is what is known at one moment. It is not safe for concurrent use: it remembers what it has worked out.
type World struct {
	Facts
	targets  []target
	problems map[object.Ref][]v1alpha1.PolicyProblem
	sizes    map[intent.SetID]int32 // addresses of the sets that were asked for
}

// target is a target with what it may not hold yet.
type target struct {
	Target
	all    bool              // it may lack anything
	behind intent.Touched    // what became different since it agreed
	skips  map[string]string // reasons by intent
}

// NewWorld puts facts in order.
func NewWorld(f Facts) *World {
	w := &World{Facts: f, problems: map[object.Ref][]v1alpha1.PolicyProblem{}, sizes: map[intent.SetID]int32{}}
	for _, t := range f.Targets {
		w.targets = append(w.targets, newTarget(t, f.Snapshot))
	}
	for _, p := range f.Problems {
		w.problems[p.Ref] = append(w.problems[p.Ref], v1alpha1.PolicyProblem{Field: p.Field, Message: p.Message})
	}
	return w
}

func newTarget(t Target, s *intent.Snapshot) target {
	out := target{Target: t, skips: map[string]string{}}
	for _, skip := range t.Skips {
		out.skips[skip.Intent] = skip.Reason
	}
	if t.Revision >= s.Revision() && t.Revision > 0 {
		return out
	}
	var known bool
	out.behind, known = s.TouchedSince(t.Revision)
	out.all = !known || out.behind.Families && t.Trouble != ""
	return out
}

// Pending says whether nothing can be told yet, because some target has not been asked and may still answer soon.
func (w *World) Pending() bool {
	for i := range w.targets {
		if t := &w.targets[i]; t.Revision == 0 && !t.Stale {
			return true
		}
	}
	return false
}

// addresses counts the addresses of the members of a set.
func (w *World) addresses(set *intent.Set) int32 {
	n, ok := w.sizes[set.ID]
	if !ok {
		n = count(len(set.Addrs()))
		w.sizes[set.ID] = n
	}
	return n
}

// count is n as the API keeps it.
func count(n int) int32 { return int32(min(n, 1<<30)) } //nolint:gosec // it fits, as just seen
