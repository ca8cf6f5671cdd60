package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/query"
)

// edgeTables are the gateways of a snapshot, and what they shall hold.
func edgeTables(d *query.Intents) []*table {
	gateways := table{head: []string{"DEVICE", "SCOPE", "WORKLOAD", "ADDRESS", "STATE"}}
	for n := range d.Gateways {
		g := &d.Gateways[n]
		gateways.add(g.Target, g.Scope, g.Group, cmp.Or(g.Address, "none"), cmp.Or(g.Conflict, g.State))
	}
	edges := table{head: []string{"RESOURCE", "SCOPE", "BECOMES", "CONFIGURATION"}}
	for n := range d.Edges {
		e := &d.Edges[n]
		edges.add(e.Origin, e.Scope, e.Kind, edgeText(e))
	}
	return []*table{&gateways, &edges}
}

// edgeText spells what an edge intent wants. Others of its scope stand without that.
func edgeText(e *query.EdgeIntent) string {
	if e.Gone {
		return "to be deleted"
	}
	if e.Unknown {
		return "not known yet: devices keep what they have"
	}
	text := strings.ReplaceAll(query.FieldsText(e.Wants), "="+e.Scope+"/", "=")
	if e.Adopts != "" {
		text = "replaces " + e.Adopts + ": " + text
	}
	return text
}

// edge spells what an SD-WAN object asks for.
func (w *answerWriter) edge(e *query.EdgeExplanation) {
	w.line("%s", w.ink.bold(e.Name))
	w.problems(e.Problems)
	for _, field := range []struct{ name, text string }{
		{"scope", e.Scope},
		{"state", strings.TrimSuffix(e.State+": "+e.Message, ": ")},
		{"used by", some(e.NeededBy, strings.Clone)},
		{"note", e.Note},
	} {
		if field.text != "" && field.text != ": " {
			w.line("  %-7s  %s", field.name, field.text)
		}
	}
	for i := range e.Wants {
		one := &e.Wants[i]
		w.line("")
		w.line("%s: %s", one.Kind, edgeText(one))
		for _, id := range one.Needs {
			w.line("  needs  %s", strings.TrimPrefix(id, one.Scope+"/"))
		}
	}
	if len(e.Wants) == 0 {
		return
	}
	w.line("")
	if len(e.Gateways) == 0 {
		w.line("no CNF has that purpose")
		return
	}
	gateways := table{head: []string{"DEVICE", "ADDRESS", "STATE"}}
	for i := range e.Gateways {
		g := &e.Gateways[i]
		gateways.add(g.Target, cmp.Or(g.Address, "none"), cmp.Or(g.Conflict, g.State))
	}
	_, _ = w.WriteString(gateways.text("", w.ink)) // it never fails
}

// edgeSections are what an SD-WAN object becomes on each of its gateways.
func edgeSections(inv *query.Inventory, e *query.EdgeExplanation) map[string][]openwrt.Section {
	out := map[string][]openwrt.Section{}
	for i := range e.Gateways {
		g := inv.Snapshot().Gateway(intent.GatewayID(e.Gateways[i].ID))
		for n := range e.Wants {
			if edge := inv.Snapshot().EdgeIntent(intent.EdgeID(e.Wants[n].ID)); g != nil && edge != nil {
				out[e.Gateways[i].Target] = openwrt.SectionsOf(inv.Snapshot(), g, defaultOwner, edge.Origin)
				break
			}
		}
	}
	return out
}

// sectionsText spells sections for people, each with the gateways that it is the same for.
func sectionsText(of map[string][]openwrt.Section, i ink) string {
	alike := map[string][]string{}
	for _, target := range slices.Sorted(maps.Keys(of)) {
		text := ""
		for k := range of[target] {
			text += sectionText(&of[target][k])
		}
		alike[text] = append(alike[text], target)
	}
	var b strings.Builder
	for _, text := range slices.Sorted(maps.Keys(alike)) {
		if text != "" {
			b.WriteString("\n" + i.bold("on "+strings.Join(alike[text], ", ")) + "\n" + text)
		}
	}
	return b.String()
}

func sectionText(s *openwrt.Section) string {
	text := "  " + s.String() + "\n"
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		text += fmt.Sprintf("    %s: %v\n", name, s.Fields[name])
	}
	return text
}
