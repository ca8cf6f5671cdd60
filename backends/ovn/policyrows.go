package ovn

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/lb"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// CountRows implements backends.RowCounter. It counts ACLs.
func (b *Backend) CountRows(want *intent.Snapshot, of intent.Origin) int {
	return len(b.explainer().PolicyRows(want, of))
}

// PolicyRows implements backends.Explainer. The rows are ACLs, by rule. Isolation itself is a row that all policies
// share, and is not included; the ACLs of rules that it has in common with others are, at what they cost for its own pods.
func (e *Explainer) PolicyRows(want *intent.Snapshot, of intent.Origin) []backends.PolicyRow {
	want = e.asRendered(want)
	r := &renderer{names: e.names, want: want, schema: e.schema}
	sizes := map[string]int{}
	var out []backends.PolicyRow
	for p := range want.Policies() {
		if p.Origin != of {
			continue
		}
		for subject, g := range r.groups(slices.Values([]*intent.Policy{p})) {
			r.addSizes(sizes, g)
			if g.sharers != nil {
				subject = p.Subject
			}
			ports := portsByNode(want.Set(subject))
			for _, acl := range g.acls {
				row := policyRow(acl, ports, sizes)
				row.Rule = cmp.Or(g.sharers[p.ID], strings.TrimPrefix(acl.Origin, of.String()+" "))
				out = append(out, row)
			}
		}
	}
	slices.SortFunc(out, func(a, b backends.PolicyRow) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Match, b.Match), cmp.Compare(a.Action, b.Action))
	})
	return out
}

// Skips implements backends.Explainer. Whether a load balancer has switches and routers depends on the database, and is not among them.
func (e *Explainer) Skips(want *intent.Snapshot) []backends.Skip {
	var out []backends.Skip
	if !hasTiers(e.schema) {
		lowering := intent.NewLowering(intent.MaxRaised)
		want = lowering.Next(want)
		out = overflows(lowering)
	}
	hairpins := [2]netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} // which ones makes no difference
	r := &renderer{names: e.names, want: want, schema: e.schema, hairpins: hairpins}
	_ = r.groups(want.Policies(), gathered()...) // it notes what it cannot express
	out = append(out, r.skips...)
	for b := range want.LoadBalancers() {
		out = append(out, lb.LimitOf(b)...)
	}
	return out
}

func policyRow(acl *nb.Row, ports, sizes map[string]int) backends.PolicyRow {
	out := backends.PolicyRow{Name: acl.Name, Match: acl.Match(), Flows: map[string]int{}}
	out.Action, _ = acl.Fields["action"].(string)
	out.Priority, _ = acl.Fields["priority"].(int)
	for node, n := range ports {
		out.Flows[node] = aclFlows(out.Match, n, sizes)
	}
	return out
}
