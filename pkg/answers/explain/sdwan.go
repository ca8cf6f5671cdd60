package explain

import (
	"slices"

	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// SDWAN is what an SD-WAN object configures, and on which CNFs.
type SDWAN struct {
	Name     string           `json:"name"` // such as Mwan3Rule/branch/web
	Scope    string           `json:"scope,omitempty"`
	State    string           `json:"state,omitempty"`   // from its status
	Message  string           `json:"message,omitempty"` // likewise
	Note     string           `json:"note,omitempty"`    // why it configures nothing
	Wants    []intents.Device `json:"wants"`
	NeededBy []string         `json:"neededBy,omitempty"` // objects that refer to it
	CNFs     []intents.CNF    `json:"cnfs,omitempty"`     // that should have it
	Problems []object.Problem `json:"problems,omitempty"`
}

func sdwan(w *world.World, o *world.SDWANObject) *SDWAN {
	out := &SDWAN{
		Name: o.String(), State: o.State, Message: o.Message, Wants: []intents.Device{},
		Problems: w.ProblemsOf(o.Kind, o.Namespace+"/"+o.Name),
	}
	s := w.State.Snapshot
	var scope intent.Scope
	mine := map[intent.DeviceIntentID]bool{}
	for e := range s.DeviceIntents() {
		if e.Origin.String() == out.Name {
			out.Wants, scope, mine[e.ID] = append(out.Wants, intents.OfDevice(e)), e.Scope, true
		}
	}
	if len(out.Wants) == 0 {
		out.Note = "it configures nothing on any CNF"
		return out
	}
	out.Scope = scope.String()
	for e := range s.DeviceIntentsOf(scope) {
		refers := slices.ContainsFunc(e.Needs, func(id intent.DeviceIntentID) bool { return mine[id] })
		if refers && !slices.Contains(out.NeededBy, e.Origin.String()) {
			out.NeededBy = append(out.NeededBy, e.Origin.String())
		}
	}
	for g := range s.CNFs() {
		if g.Scope == scope {
			out.CNFs = append(out.CNFs, intents.OfCNF(g))
		}
	}
	return out
}
