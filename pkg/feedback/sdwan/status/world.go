package status

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Loop is the state of a CNF's target. The zero value is a CNF without one, or one that has not been in sync yet.
type Loop struct {
	Revision intent.Revision // the snapshot it was last in sync with
	// Trouble is why the last round failed, or why there is no target although there should be one; "" if nothing is wrong.
	Trouble string
	// Stale is set if it has been in trouble for so long that the content of the CNF is not known any more.
	Stale bool
	Skips []backends.Skip // what the CNF does not accept
}

// World is what is known at one moment. It is read-only, but not safe for concurrent use: it caches what it has worked out.
type World struct {
	snapshot    *intent.Snapshot
	now         metav1.Time
	clusterWide bool
	cnfs        map[intent.Scope][]*cnf // by ID
	problems    map[object.Ref][]string
	intents     map[intent.Scope]map[object.Ref][]*intent.DeviceIntent // of the scopes looked up so far
}

// Facts is what a World is made of.
type Facts struct {
	Snapshot *intent.Snapshot // not older than any revision in Loops
	Loops    map[intent.CNFID]Loop
	// Unread reports which CNFs have not been read since the process began; nil means none.
	Unread   func(intent.CNFID) bool
	Problems []object.Problem
	// Now is the time to record, in whole seconds as the API stores it.
	Now metav1.Time
	// ClusterWide has objects select the CNFs of their purpose in every namespace.
	ClusterWide bool
}

// cnf is a CNF with what it may lack.
type cnf struct {
	*intent.CNF
	loop        Loop
	all         bool // it may lack anything
	unavailable bool // nothing is written, because some kind cannot be read
	// unread: it has not been read since the process began.
	unread bool
	behind intent.Touched    // what changed since its loop was last in sync
	skips  map[string]string // reasons by intent
	// remarks are on intents that are in effect.
	remarks map[string]string
}

// NewWorld makes a World of facts.
func NewWorld(f Facts) *World {
	w := &World{
		snapshot: f.Snapshot, now: f.Now, clusterWide: f.ClusterWide, cnfs: map[intent.Scope][]*cnf{},
		problems: map[object.Ref][]string{}, intents: map[intent.Scope]map[object.Ref][]*intent.DeviceIntent{},
	}
	for g := range f.Snapshot.CNFs() {
		made := newCNF(g, f.Loops[g.ID], f.Snapshot)
		made.unread = f.Unread != nil && f.Unread(g.ID)
		w.cnfs[g.Scope] = append(w.cnfs[g.Scope], made)
	}
	for _, p := range f.Problems {
		w.problems[p.Ref] = append(w.problems[p.Ref], p.What())
	}
	return w
}

func newCNF(g *intent.CNF, loop Loop, s *intent.Snapshot) *cnf {
	out := &cnf{CNF: g, loop: loop, skips: map[string]string{}, remarks: map[string]string{}}
	for _, skip := range loop.Skips {
		if skip.InEffect {
			out.remarks[skip.Intent] = skip.Reason
			continue
		}
		out.skips[skip.Intent] = skip.Reason
	}
	if s.Unknown().Has(intent.AreaDevices) { // its loop cannot be in sync with more than that
		out.all, out.unavailable = true, true
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

// lacking reports whether the CNF may lack the intents of an object as the snapshot has them.
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
	for id := range g.behind.DeviceIntents { // what was there and is not there any more
		if id == base || strings.HasPrefix(string(id), string(base)+"/") {
			return true
		}
	}
	return false
}

// refused returns why the CNF does not accept one of the intents of an object; "" if it accepts all.
func (g *cnf) refused(of []*intent.DeviceIntent) string { return firstReason(g.skips, of) }

// remark returns what there is to report on an object that the CNF has; "" if nothing.
func (g *cnf) remark(of []*intent.DeviceIntent) string { return firstReason(g.remarks, of) }

func firstReason(reasons map[string]string, of []*intent.DeviceIntent) string {
	for _, e := range of {
		if reason, ok := reasons[string(e.ID)]; ok {
			return reason
		}
	}
	return ""
}

// scope returns the scope of an object; false if it has none.
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
				continue // it only marks that there may be more
			}
			of[e.Origin.Ref()] = append(of[e.Origin.Ref()], e)
		}
		w.intents[scope] = of
	}
	return of[key]
}
