package ovn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// PolicyRow is an ACL that a policy is in need of, alone or with others.
type PolicyRow struct {
	Rule     string `json:"rule"` // such as spec.ingress[0]
	Name     string `json:"name"`
	Priority int    `json:"priority"`
	Action   string `json:"action"`
	Match    string `json:"match"`
	// Flows is about how many OpenFlow flows it costs each node: see EstimateFlows.
	Flows map[string]int `json:"flows"`
}

// RowsOf lists the ACLs that the policies of an origin become in the database of an owner with that schema, by rule.
// Isolation itself is a row that all policies share and not among them.
func RowsOf(want *intent.Snapshot, schema ovsdb.Schema, owner string, of intent.Origin) []PolicyRow {
	r := &renderer{names: newNamer(owner), want: want, schema: schema}
	sizes := map[string]int{}
	var out []PolicyRow
	for p := range want.Policies() {
		if p.Origin != of {
			continue
		}
		for _, subject := range subjectsOf(p) {
			g := r.group(subject, []*intent.Policy{p})
			if g == nil {
				continue
			}
			r.addSizes(sizes, g)
			ports := portsByNode(want.Set(subject))
			for _, acl := range g.acls {
				row := policyRow(acl, ports, sizes)
				row.Rule = strings.TrimPrefix(acl.origin, of.String()+" ")
				out = append(out, row)
			}
		}
	}
	slices.SortFunc(out, func(a, b PolicyRow) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Match, b.Match), cmp.Compare(a.Action, b.Action))
	})
	return out
}

func policyRow(acl *row, ports, sizes map[string]int) PolicyRow {
	out := PolicyRow{Name: acl.name, Flows: map[string]int{}}
	out.Match, _ = acl.fields["match"].(string)
	out.Action, _ = acl.fields["action"].(string)
	out.Priority, _ = acl.fields["priority"].(int)
	for node, n := range ports {
		out.Flows[node] = aclFlows(out.Match, n, sizes)
	}
	return out
}

// addSizes counts the addresses of the sets that a group refers to, by name.
func (r *renderer) addSizes(sizes map[string]int, g *group) {
	for ref := range g.peers {
		if name := r.names.addressSet(ref.set, ref.family); sizes[name] == 0 {
			sizes[name] = len(r.addressSet(ref).sets["addresses"])
		}
	}
}
