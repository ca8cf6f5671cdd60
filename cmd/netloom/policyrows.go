package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/query"
)

// The settings that rows depend on if there is no database: the defaults of owner and ovn-meter-rate.
const (
	defaultOwner = "netloom"
	defaultRate  = 20
)

// explained is an explanation with the resulting configuration of OVN and CNFs.
type explained struct {
	query.Explanation
	Rows []backends.PolicyRow `json:"rows,omitempty"` // of a policy
	// Sections are the sections made from an SD-WAN object, by CNF.
	Sections map[string][]openwrt.Section `json:"sections,omitempty"`
}

// policyRows are the ACLs of a policy in a database of OVN 23.03.
func policyRows(inv *query.Inventory, of *query.PolicyExplanation) ([]backends.PolicyRow, error) {
	explainer, err := builtin.NewExplainer(defaultOwner, defaultRate)
	if err != nil {
		return nil, err
	}
	kind := cmp.Or(of.Kind, object.KindNetworkPolicy)
	for p := range inv.Snapshot().Policies() {
		if ref := p.Origin.Ref(); ref.Kind == kind && ref.NamespacedName() == of.Name {
			return explainer.PolicyRows(inv.Snapshot(), p.Origin), nil
		}
	}
	return nil, nil
}

// rowNamer names the ACLs that decide on a flow, in a database of OVN 23.03.
func rowNamer(inv *query.Inventory) (query.RowNamer, error) {
	explainer, err := builtin.NewExplainer(defaultOwner, defaultRate)
	if err != nil {
		return nil, err
	}
	return func(f *intent.Flow, d intent.Direction, by []intent.RuleRef) []query.Row {
		var out []query.Row
		for _, row := range explainer.DecidingRows(inv.Snapshot(), f, d, by) {
			out = append(out, query.Row{Table: row.Table, Name: row.Name, UUID: row.UUID, For: row.For})
		}
		return out
	}, nil
}

// rowsText formats ACLs, with their cost on the node with the highest one.
func rowsText(rows []backends.PolicyRow, i palette) string {
	if len(rows) == 0 {
		return ""
	}
	t := table{head: []string{"RULE", "FLOWS", "ACTION", "MATCH"}}
	total := map[string]int{}
	for n := range rows {
		r := &rows[n]
		most := 0
		for node, flows := range r.Flows {
			total[node] += flows
			most = max(most, flows)
		}
		t.add(r.Rule, fmt.Sprint(most), r.Action, r.Match)
	}
	text := "\nin OVN: " + counted(len(rows), "ACL") + " in addition to those for isolation"
	if nodes := slices.Collect(maps.Values(total)); len(nodes) > 0 {
		text += fmt.Sprintf("; about %d flows on the node with the most", slices.Max(nodes))
	}
	return text + "\n" + t.text("  ", i)
}
