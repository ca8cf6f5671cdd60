package status

import (
	"strings"

	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// World is what is known at one moment. It is read-only, but not safe for concurrent use: it caches what it has worked out.
type World struct {
	Facts
	cnfs     map[intent.Scope][]*cnf // by ID
	problems map[object.Ref][]string
	intents  map[intent.Scope]map[object.Ref][]*intent.DeviceIntent // of the scopes looked up so far
}

// Facts is what a World is made of.
type Facts struct {
	state.Facts

	// Loops has the target of each CNF. A CNF without one has the zero value.
	Loops map[intent.CNFID]state.Target
	// Unread reports which CNFs have not been read since the process began; nil means none.
	Unread func(intent.CNFID) bool
	// ClusterWide has objects select the CNFs of their purpose in every namespace.
	ClusterWide bool
}

// cnf is a CNF with what it may lack.
type cnf struct {
	*intent.CNF
	loop        state.Target
	lag         state.Lag
	unavailable bool // nothing is written, because some kind cannot be read
	// unread: it has not been read since the process began.
	unread bool
}

// NewWorld makes a World of facts.
func NewWorld(f Facts) *World {
	w := &World{
		Facts: f, cnfs: map[intent.Scope][]*cnf{},
		problems: map[object.Ref][]string{}, intents: map[intent.Scope]map[object.Ref][]*intent.DeviceIntent{},
	}
	for g := range f.Snapshot.CNFs() {
		made := newCNF(g, f.Loops[g.ID], &f.Facts)
		made.unread = f.Unread != nil && f.Unread(g.ID)
		w.cnfs[g.Scope] = append(w.cnfs[g.Scope], made)
	}
	for ref, problems := range f.ProblemsOf() {
		for _, p := range problems {
			w.problems[ref] = append(w.problems[ref], p.What())
		}
	}
	return w
}

func newCNF(g *intent.CNF, loop state.Target, f *state.Facts) *cnf {
	out := &cnf{CNF: g, loop: loop, lag: f.Lag(&loop), unavailable: f.Snapshot.Unknown().Has(intent.AreaDevices)}
	// While something is unavailable, the loop cannot be in sync with more than that.
	out.lag.All = out.lag.All || out.unavailable || out.lag.Behind.Unknown || out.lag.Behind.CNFs[g.ID]
	return out
}

// lacking reports whether the CNF may lack the intents of an object as the snapshot has them.
func (g *cnf) lacking(base intent.DeviceIntentID, of []*intent.DeviceIntent) bool {
	if g.lag.All {
		return true
	}
	for _, e := range of {
		app, ok := e.Spec.(*intent.Application)
		if g.lag.Behind.DeviceIntents[e.ID] || ok && g.lag.Behind.Sets[app.Sources] {
			return true
		}
	}
	for id := range g.lag.Behind.DeviceIntents { // what was there and is not there any more
		if id == base || strings.HasPrefix(string(id), string(base)+"/") {
			return true
		}
	}
	return false
}

// refused returns why the CNF does not accept one of the intents of an object; "" if it accepts all.
func (g *cnf) refused(of []*intent.DeviceIntent) string { return firstReason(g.lag.Refusal, of) }

// remark returns what there is to report on an object that the CNF has; "" if nothing.
func (g *cnf) remark(of []*intent.DeviceIntent) string { return firstReason(g.lag.Remark, of) }

func firstReason(reasons func(string) (string, bool), of []*intent.DeviceIntent) string {
	for _, e := range of {
		if reason, ok := reasons(string(e.ID)); ok {
			return reason
		}
	}
	return ""
}

// scope returns the scope of an object; false if it has none.
func (w *World) scope(o Object) (intent.Scope, bool) {
	return ScopeOf(o, w.ClusterWide)
}

// intentsOf lists the intents of an object, by ID.
func (w *World) intentsOf(scope intent.Scope, key object.Ref) []*intent.DeviceIntent {
	of, ok := w.intents[scope]
	if !ok {
		of = map[object.Ref][]*intent.DeviceIntent{}
		for e := range w.Snapshot.DeviceIntentsOf(scope) {
			if e.Unknown {
				continue // it only marks that there may be more
			}
			of[e.Origin.Ref()] = append(of[e.Origin.Ref()], e)
		}
		w.intents[scope] = of
	}
	return of[key]
}
