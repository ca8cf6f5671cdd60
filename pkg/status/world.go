package status

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Loop is how the target of a CNF stands. The zero value is a CNF without one, or one that has agreed with nothing
// yet.
type Loop struct {
	Revision intent.Revision // the snapshot that it agreed with last
	// Trouble says why the last round did not end well, or why there is no target although there should be one; "" if
	// nothing is wrong.
	Trouble string
	// Stale says that it has been in trouble for so long that what the CNF holds is not known any more.
	Stale bool
	Skips []backends.Skip // what the CNF does not take
}

// World is what is known at one moment. It is read-only once it is made, but not safe for concurrent use: it remembers
// what it has worked out.
type World struct {
	snapshot    *intent.Snapshot
	now         metav1.Time
	clusterWide bool
	cnfs        map[intent.Scope][]*cnf // by ID
	problems    map[object.Ref][]string
	intents     map[intent.Scope]map[object.Ref][]*intent.DeviceIntent // of the scopes that were asked for
}

// Facts is what a World is made of.
type Facts struct {
	Snapshot *intent.Snapshot // not older than any revision in Loops
	Loops    map[intent.CNFID]Loop
	// Unasked says which CNFs nobody has asked for anything since the process began; nil is none.
	Unasked  func(intent.CNFID) bool
	Problems []object.Problem
	// Now is the time to write down, in whole seconds as the API keeps it.
	Now metav1.Time
	// ClusterWide has an object mean the CNFs of its purpose in every namespace.
	ClusterWide bool
}

// cnf is a CNF with what it may not hold yet.
type cnf struct {
	*intent.CNF
	loop  Loop
	all   bool // it may lack anything
	blind bool // nothing is written, because some kind cannot be read
	// unasked: nobody has asked it for anything since the process began.
	unasked bool
	behind  intent.Touched    // what became different since its loop agreed
	skips   map[string]string // reasons by intent
}

// NewWorld puts facts in order.
func NewWorld(f Facts) *World {
	w := &World{
		snapshot: f.Snapshot, now: f.Now, clusterWide: f.ClusterWide, cnfs: map[intent.Scope][]*cnf{},
		problems: map[object.Ref][]string{}, intents: map[intent.Scope]map[object.Ref][]*intent.DeviceIntent{},
	}
	for g := range f.Snapshot.CNFs() {
		made := newCNF(g, f.Loops[g.ID], f.Snapshot)
		made.unasked = f.Unasked != nil && f.Unasked(g.ID)
		w.cnfs[g.Scope] = append(w.cnfs[g.Scope], made)
	}
	for _, p := range f.Problems {
		w.problems[p.Ref] = append(w.problems[p.Ref], p.What())
	}
	return w
}

func newCNF(g *intent.CNF, loop Loop, s *intent.Snapshot) *cnf {
	out := &cnf{CNF: g, loop: loop, skips: map[string]string{}}
	for _, skip := range loop.Skips {
		out.skips[skip.Intent] = skip.Reason
	}
	if s.Unknown().Has(intent.AreaDevices) { // what its loop agrees with is no more than that
		out.all, out.blind = true, true
		return out
	}
	if loop.Revision >= s.Revision() {
		return out
	}
	var known bool
	out.behind, known = s.TouchedSince(loop.Revision)
	out.all = !known || out.behind.Unknown || out.behind.CNFs[g.ID]
	return out
}

// lacking says whether the CNF may not hold the intents of an object as the snapshot has them.
func (g *cnf) lacking(base intent.DeviceIntentID, of []*intent.DeviceIntent) bool {
	if g.all {
		return true
	}
	for _, e := range of {
		app, ok := e.Spec.(*intent.Application)
		if g.behind.DeviceIntents[e.ID] || ok && g.behind.Sets[app.Sources] {
			return true
		}
	}
	for id := range g.behind.DeviceIntents { // what was there and is not any more
		if id == base || strings.HasPrefix(string(id), string(base)+"/") {
			return true
		}
	}
	return false
}

// refused is the reason why the CNF does not take one of the intents of an object; "" when it takes all.
func (g *cnf) refused(of []*intent.DeviceIntent) string {
	for _, e := range of {
		if reason, ok := g.skips[string(e.ID)]; ok {
			return reason
		}
	}
	return ""
}

// scope is the scope of an object; false when it has none.
func (w *World) scope(o Object) (intent.Scope, bool) {
	return ScopeOf(o, w.clusterWide)
}

// intentsOf lists the intents of an object, by ID.
func (w *World) intentsOf(scope intent.Scope, key object.Ref) []*intent.DeviceIntent {
	of, ok := w.intents[scope]
	if !ok {
		of = map[object.Ref][]*intent.DeviceIntent{}
		for e := range w.snapshot.DeviceIntentsOf(scope) {
			if e.Unknown {
				continue // it says nothing but that there may be more
			}
			of[e.Origin.Ref()] = append(of[e.Origin.Ref()], e)
		}
		w.intents[scope] = of
	}
	return of[key]
}
