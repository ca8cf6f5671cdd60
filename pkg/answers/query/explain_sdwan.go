package query

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// SDWANExplanation is what an SD-WAN object configures, and on which CNFs.
type SDWANExplanation struct {
	Name     string           `json:"name"` // such as Mwan3Rule/branch/web
	Scope    string           `json:"scope,omitempty"`
	State    string           `json:"state,omitempty"`   // from its status
	Message  string           `json:"message,omitempty"` // likewise
	Note     string           `json:"note,omitempty"`    // why it configures nothing
	Wants    []DeviceIntent   `json:"wants"`
	NeededBy []string         `json:"neededBy,omitempty"` // objects that refer to it
	CNFs     []CNF            `json:"cnfs,omitempty"`     // that should have it
	Problems []object.Problem `json:"problems,omitempty"`
}

// SDWANNames lists the SD-WAN objects as kind/namespace/name in lower case, sorted.
func (inv *Inventory) SDWANNames() []string {
	var out []string
	for i := range inv.state.Objects.SDWAN {
		o := &inv.state.Objects.SDWAN[i]
		out = append(out, strings.ToLower(o.Kind)+"/"+o.Namespace+"/"+o.Name)
	}
	slices.Sort(out)
	return out
}

// sdwanKind reads the kind of an existing SD-WAN object, in any case; "" means none.
func (inv *Inventory) sdwanKind(word string) string {
	for i := range inv.state.Objects.SDWAN {
		o := &inv.state.Objects.SDWAN[i]
		if strings.EqualFold(word, o.Kind) || strings.EqualFold(word, o.Plural) {
			return o.Kind
		}
	}
	return ""
}

// explainSDWAN explains the object namespace/name of a kind.
func (inv *Inventory) explainSDWAN(kind, name string) (Explanation, error) {
	var names []string
	for i := range inv.state.Objects.SDWAN {
		o := &inv.state.Objects.SDWAN[i]
		if o.Kind != kind {
			continue
		}
		if o.Namespace+"/"+o.Name == name {
			return Explanation{SDWAN: inv.sdwan(o)}, nil
		}
		names = append(names, o.Namespace+"/"+o.Name)
	}
	return Explanation{}, notFound(Kind(strings.ToLower(kind)), name, names)
}

func (inv *Inventory) sdwan(o *SDWANObject) *SDWANExplanation {
	out := &SDWANExplanation{
		Name: o.String(), State: o.State, Message: o.Message, Wants: []DeviceIntent{},
		Problems: inv.problemsOf(o.Kind, o.Namespace+"/"+o.Name),
	}
	s := inv.state.Snapshot
	var scope intent.Scope
	mine := map[intent.DeviceIntentID]bool{}
	for e := range s.DeviceIntents() {
		if e.Origin.String() == out.Name {
			out.Wants, scope, mine[e.ID] = append(out.Wants, deviceIntent(e)), e.Scope, true
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
			out.CNFs = append(out.CNFs, cnfOf(g))
		}
	}
	return out
}
