package main

import (
	"cmp"
	"strings"

	"github.com/netloom/netloom/pkg/query"
)

// edgeTables are the gateways of a snapshot, and what they shall hold.
func edgeTables(d *query.Intents) []*table {
	gateways := table{head: []string{"GATEWAY", "SCOPE", "WORKLOAD", "ADDRESS", "STATE"}}
	for n := range d.Gateways {
		g := &d.Gateways[n]
		gateways.add(g.Target, g.Scope, g.Group, cmp.Or(g.Address, "none"), cmp.Or(g.Conflict, g.State))
	}
	edges := table{head: []string{"RESOURCE", "SCOPE", "BECOMES", "WANTS"}}
	for n := range d.Edges {
		e := &d.Edges[n]
		edges.add(e.Origin, e.Scope, e.Kind, edgeText(e))
	}
	return []*table{&gateways, &edges}
}

// edgeText spells what an edge intent wants. Others of its scope stand without that.
func edgeText(e *query.EdgeIntent) string {
	if e.Gone {
		return "to be gone"
	}
	text := strings.ReplaceAll(query.FieldsText(e.Wants), "="+e.Scope+"/", "=")
	if e.Adopts != "" {
		text = "in the place of " + e.Adopts + ": " + text
	}
	return text
}
