package ovn

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// DecidingRows implements backends.Explainer. A policy that logs drops does so before the default drop.
func (e *Explainer) DecidingRows(
	want *intent.Snapshot, f *intent.Flow, d intent.Direction, by []intent.RuleRef,
) []backends.DecidingRow {
	if rendered := e.asRendered(want); rendered != want {
		want = rendered
		v := want.Evaluate(*f)
		by = v.Egress.By
		if d == intent.Ingress {
			by = v.Ingress.By
		}
	}
	r := &renderer{names: e.names, rate: e.naming.Rate, want: want, schema: e.schema}
	otherFamily := " ip6."
	if intent.FamilyOf(f.Dst.Addr) == intent.IPv6 {
		otherFamily = " ip4."
	}
	var out []backends.DecidingRow
	for _, ref := range by {
		p := want.Policy(ref.Policy)
		to := newDraft(p.Subject)
		switch {
		case ref.Rule >= 0:
			rule := ruleFor(&p.Rules[ref.Rule], f.Protocol)
			to.subject = subjectOf(p, &rule)
			if parts := partsOf(&rule); parts != nil {
				out = append(out, r.decidingParts(p, &rule, parts, f, otherFamily)...)
			} else {
				r.rule(to, p, &rule, r.placeOf(p, ref.Rule))
			}
		case p.Log.Deny != intent.SeverityNone:
			r.logDrops(to, p)
		}
		out = append(out, deciding(maps.Values(to.acls), func(acl *nb.Row) bool {
			return !strings.Contains(acl.Match(), otherFamily) && acl.ExternalIDs()[nb.KeyName] != ""
		})...)
	}
	if len(out) == 0 && len(by) > 0 && by[0].Rule < 0 {
		to := newDraft(intent.IsolatedSet(d))
		r.isolate(to, d)
		out = deciding(maps.Values(to.acls), func(acl *nb.Row) bool { return acl.Fields["action"] == nb.ActionDrop })
	}
	slices.SortFunc(out, func(a, b backends.DecidingRow) int {
		return cmp.Or(cmp.Compare(a.For, b.For), cmp.Compare(a.UUID, b.UUID))
	})
	return slices.Compact(out)
}

// decidingParts lists the ACLs of the parts of a rule of p that match a flow.
func (r *renderer) decidingParts(p *intent.Policy, rule *intent.Rule, parts []intent.Part, f *intent.Flow, otherFamily string) []backends.DecidingRow {
	peer := f.Src.Addr
	if p.Direction == intent.Egress {
		peer = f.Dst.Addr
	}
	var out []backends.DecidingRow
	for _, part := range parts {
		if part.Peer.Kind == intent.PeerSet && !r.want.Set(part.Peer.Set).Contains(peer) {
			continue
		}
		to := newDraft(p.Subject)
		acls := maps.Values(to.acls)
		if part.Shared == "" {
			r.rule(to, p, narrowed(rule, part.Peer), place{priority: priorityAllow})
		} else if shared := r.sharedPiece(share{part.Shared, p.Direction, narrowed(rule, part.Peer)}, nil); shared != nil {
			acls = slices.Values(shared.rows)
		}
		for _, row := range deciding(acls, func(acl *nb.Row) bool { return !strings.Contains(acl.Match(), otherFamily) }) {
			row.For = p.Origin.String() + " " + rule.Path
			out = append(out, row)
		}
	}
	return out
}

// ruleFor returns a rule with the ports of one protocol only, which have rows of their own.
func ruleFor(rule *intent.Rule, protocol intent.Protocol) intent.Rule {
	one := *rule
	one.Ports.Ranges = slices.DeleteFunc(slices.Clone(rule.Ports.Ranges), func(r intent.PortRange) bool {
		return r.Protocol != protocol
	})
	return one
}

// deciding lists the ACLs that decide.
func deciding(acls iter.Seq[*nb.Row], decides func(acl *nb.Row) bool) []backends.DecidingRow {
	var out []backends.DecidingRow
	for acl := range acls {
		if decides(acl) {
			out = append(out, backends.DecidingRow{Table: nb.TableACL, Name: acl.Name, UUID: acl.UUID, For: acl.Origin})
		}
	}
	return out
}
