package query

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// EdgeExplanation is what an SD-WAN object asks for, and of which gateways.
type EdgeExplanation struct {
	Name     string          `json:"name"` // such as Mwan3Rule/branch/web
	Scope    string          `json:"scope,omitempty"`
	State    string          `json:"state,omitempty"`   // what its status says
	Message  string          `json:"message,omitempty"` // likewise
	Note     string          `json:"note,omitempty"`    // why it asks for nothing
	Wants    []EdgeIntent    `json:"wants"`
	NeededBy []string        `json:"neededBy,omitempty"` // objects that refer to it
	Gateways []GatewayIntent `json:"gateways,omitempty"` // that shall hold it
	Problems []Problem       `json:"problems,omitempty"`
}

// EdgeNames lists the SD-WAN objects as kind/namespace/name in lower case, sorted.
func (inv *Inventory) EdgeNames() []string {
	var out []string
	for i := range inv.state.Objects.Edges {
		o := &inv.state.Objects.Edges[i]
		out = append(out, strings.ToLower(o.Kind)+"/"+o.Namespace+"/"+o.Name)
	}
	slices.Sort(out)
	return out
}

// edgeKind reads the kind of SD-WAN objects that are there as people write it; "" is none.
func (inv *Inventory) edgeKind(word string) string {
	for i := range inv.state.Objects.Edges {
		o := &inv.state.Objects.Edges[i]
		if strings.EqualFold(word, o.Kind) || strings.EqualFold(word, o.Plural) {
			return o.Kind
		}
	}
	return ""
}

// explainEdge explains the object of a kind that is called namespace/name.
func (inv *Inventory) explainEdge(kind, name string) (Explanation, error) {
	var names []string
	for i := range inv.state.Objects.Edges {
		o := &inv.state.Objects.Edges[i]
		if o.Kind != kind {
			continue
		}
		if o.Namespace+"/"+o.Name == name {
			return Explanation{Edge: inv.edge(o)}, nil
		}
		names = append(names, o.Namespace+"/"+o.Name)
	}
	return Explanation{}, notFound(Kind(strings.ToLower(kind)), name, names)
}

func (inv *Inventory) edge(o *EdgeObject) *EdgeExplanation {
	out := &EdgeExplanation{
		Name: o.String(), State: o.State, Message: o.Message, Wants: []EdgeIntent{},
		Problems: inv.problemsOf(o.Kind, o.Namespace+"/"+o.Name),
	}
	s := inv.state.Snapshot
	var scope intent.Scope
	mine := map[intent.EdgeID]bool{}
	for e := range s.EdgeIntents() {
		if e.Origin.String() == out.Name {
			out.Wants, scope, mine[e.ID] = append(out.Wants, edgeIntent(e)), e.Scope, true
		}
	}
	if len(out.Wants) == 0 {
		out.Note = "it has no configuration for any CNF"
		return out
	}
	out.Scope = scope.String()
	for e := range s.EdgeIntentsOf(scope) {
		refers := slices.ContainsFunc(e.Needs, func(id intent.EdgeID) bool { return mine[id] })
		if refers && !slices.Contains(out.NeededBy, e.Origin.String()) {
			out.NeededBy = append(out.NeededBy, e.Origin.String())
		}
	}
	for g := range s.Gateways() {
		if g.Scope == scope {
			out.Gateways = append(out.Gateways, gatewayIntent(g))
		}
	}
	return out
}
