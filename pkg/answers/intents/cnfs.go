package intents

import (
	"github.com/netloom/netloom/pkg/intent"
)

// CNF is a containerized network function: a pod that runs OpenWRT.
type CNF struct {
	ID       string            `json:"id"`
	Target   string            `json:"target"` // name of its target
	Scope    string            `json:"scope"`  // NAMESPACE/PURPOSE, of its configuration; /PURPOSE is in every namespace
	Group    string            `json:"group,omitempty"`
	Node     string            `json:"node,omitempty"`
	Address  string            `json:"address,omitempty"`
	State    string            `json:"state"` // ready, not ready, leaving or conflict
	Conflict string            `json:"conflict,omitempty"`
	Networks map[string]string `json:"networks,omitempty"` // interfaces by network
}

// Device is one object that the CNFs of a scope must have.
type Device struct {
	ID         string   `json:"id"`
	Origin     string   `json:"origin"`
	Scope      string   `json:"scope"`
	Kind       string   `json:"kind"` // such as "WAN rule"
	Generation int64    `json:"generation,omitempty"`
	Needs      []string `json:"needs,omitempty"` // IDs
	Gone       bool     `json:"gone,omitempty"`  // it must be deleted
	Adopts     string   `json:"adopts,omitempty"`
	// Unknown means that the content of the object is not known yet: CNFs keep what they have of the kind.
	Unknown bool `json:"unknown,omitempty"`
	// Wants is the fields that are set. Secrets are named, never shown.
	Wants map[string]string `json:"wants,omitempty"`
}

// OfCNF is a CNF as data.
func OfCNF(g *intent.CNF) CNF {
	d := CNF{
		ID: string(g.ID), Target: g.Target(), Scope: g.Scope.String(), Group: g.Group, Node: g.Node, State: "ready",
		Conflict: g.Conflict, Networks: g.Networks,
	}
	if g.Addr.IsValid() {
		d.Address = g.Addr.String()
	}
	switch {
	case g.Leaving:
		d.State = "leaving"
	case g.Conflict != "":
		d.State = "conflict"
	case !g.Writable():
		d.State = "not ready"
	}
	return d
}

// OfDevice is a device intent as data.
func OfDevice(e *intent.DeviceIntent) Device {
	d := Device{
		ID: string(e.ID), Origin: e.Origin.String(), Scope: e.Scope.String(), Generation: e.Generation, Gone: e.Gone,
		Adopts: e.Adopts, Unknown: e.Unknown,
	}
	for _, id := range e.Needs {
		d.Needs = append(d.Needs, string(id))
	}
	if e.Spec != nil {
		d.Kind, d.Wants = e.Spec.DeviceKind().String(), wants(e.Spec)
	}
	return d
}
