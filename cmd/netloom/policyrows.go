package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/answers/explain"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// The settings that rows depend on if there is no database: the defaults of owner and ovn-meter-rate.
const (
	defaultOwner = "netloom"
	defaultRate  = 20
)

// explained is an explanation with the resulting configuration of OVN and CNFs.
type explained struct {
	explain.Object
	Rows []backends.PolicyRow `json:"rows,omitempty"` // of a policy
	// Sections are the sections made from an SD-WAN object, by CNF.
	Sections map[string][]openwrt.Section `json:"sections,omitempty"`
}

// bindExplainer adds the flag for the backend whose rows a command shows. The result makes its explainer.
func bindExplainer(cmd *cobra.Command) func() (backends.Explainer, error) {
	name := cmd.Flags().String("backend", builtin.OVN, "show the rows of this backend: "+strings.Join(builtin.Explained(), " or "))
	complete(cmd, "backend", builtin.Explained()...)
	return func() (backends.Explainer, error) {
		e, err := builtin.NewExplainer(*name, defaultOwner, defaultRate)
		if err != nil {
			return nil, fmt.Errorf("--backend: %w", err)
		}
		return e, nil
	}
}

// policyRows are the rows that a policy becomes.
func policyRows(explainer backends.Explainer, inv *world.World, of *explain.Policy) []backends.PolicyRow {
	kind := cmp.Or(of.Kind, object.KindNetworkPolicy)
	for p := range inv.Snapshot().Policies() {
		if ref := p.Origin.Ref(); ref.Kind == kind && ref.NamespacedName() == of.Name {
			return explainer.PolicyRows(inv.Snapshot(), p.Origin)
		}
	}
	return nil
}

// rowNamer names the rows that decide on a flow.
func rowNamer(explainer backends.Explainer, inv *world.World) probe.RowNamer {
	return func(f *intent.Flow, d intent.Direction, by []intent.RuleRef) []probe.Row {
		if slices.ContainsFunc(by, func(r intent.RuleRef) bool {
			p := inv.Snapshot().Policy(r.Policy)
			return p != nil && p.Origin.Kind == object.KindEgressFirewall
		}) {
			return nil // netloom writes none for it
		}
		var out []probe.Row
		for _, row := range explainer.DecidingRows(inv.Snapshot(), f, d, by) {
			out = append(out, probe.Row{Table: row.Table, Name: row.Name, UUID: row.UUID, For: row.For})
		}
		return out
	}
}

// rowsText formats rows, with their cost on the node with the highest one if that is known.
func rowsText(explainer backends.Explainer, rows []backends.PolicyRow, i palette) string {
	if len(rows) == 0 {
		return ""
	}
	costed := slices.ContainsFunc(rows, func(r backends.PolicyRow) bool { return r.Flows != nil })
	t := table{head: []string{"RULE", "ACTION", "MATCH"}}
	if costed {
		t.head = slices.Insert(t.head, 1, "FLOWS")
	}
	total := map[string]int{}
	for n := range rows {
		r := &rows[n]
		most := 0
		for node, flows := range r.Flows {
			total[node] += flows
			most = max(most, flows)
		}
		line := []string{r.Rule, r.Action, r.Match}
		if costed {
			line = slices.Insert(line, 1, fmt.Sprint(most))
		}
		t.add(line...)
	}
	target, row := explainer.Terms()
	text := "\nin " + target + ": " + counted(len(rows), row) + " in addition to those for isolation"
	if nodes := slices.Collect(maps.Values(total)); len(nodes) > 0 {
		text += fmt.Sprintf("; about %d flows on the node with the most", slices.Max(nodes))
	}
	return text + "\n" + t.text("  ", i)
}
