package verify

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// Effect is how rows disagree with policies.
type Effect string

// Opens allows what policies deny; Closes denies what they allow.
const (
	Opens  Effect = "opens"
	Closes Effect = "closes"
)

// Finding is connections on which rows disagree with policies, for the same reason.
type Finding struct {
	Effect  Effect      `json:"effect"`
	From    reach.Group `json:"from"`
	To      reach.Group `json:"to"`
	Traffic string      `json:"traffic"`          // protocols and ports in the format of reach.Traffic
	Family  string      `json:"family,omitempty"` // "IPv4" or "IPv6" if it concerns only one family of ends with both
	Example Example     `json:"example"`
	// ACLs are the rows that decided, in the directions in which they should not have decided so.
	ACLs []Decision `json:"acls"`
	// Policies are those that decide by the API, as Kind/namespace/name: those that allow what is closed, or isolate from what
	// is opened. It is empty if no policy applies to the connection.
	Policies []string `json:"policies"`

	traffic  reach.Traffic
	from, to *group
}

// Example is one connection of a finding.
type Example struct {
	From, To string // pods as namespace/name, or addresses
	Src, Dst netip.Addr
	Protocol string
	Port     uint16
}

// MarshalText formats e as it is shown: "shop/web-a (10.0.0.1) -> 192.0.2.1 tcp/80".
func (e Example) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// String formats e as MarshalText does.
func (e Example) String() string {
	return fmt.Sprintf("%s -> %s %s/%d", endText(e.From, e.Src), endText(e.To, e.Dst), e.Protocol, e.Port)
}

func endText(name string, a netip.Addr) string {
	if name == "" {
		return a.String()
	}
	return fmt.Sprintf("%s (%s)", name, a)
}

// Decision is the ACL that decided in one direction.
type Decision struct {
	Direction string `json:"direction"` // egress or ingress
	// UUID and the rest of the row are empty if no ACL matched: then everything passes, unless default_acl_drop is set.
	UUID     string `json:"uuid,omitempty"`
	Name     string `json:"name,omitempty"`
	Tier     int    `json:"tier"`
	Priority int    `json:"priority"`
	Action   string `json:"action,omitempty"`
	Match    string `json:"match,omitempty"`
	Origin   string `json:"origin,omitempty"` // the object that the row was written for, as Kind/namespace/name, or the first few of several
}

// pair is two groups with what policies and rows say about connections from one to the other, by direction. A direction
// without rows is not judged.
type pair struct {
	from, to *group
	wants    [2]reach.Traffic
	rows     [2]*half
}

// maxPairs is how many findings of single pairs are kept, so that a database without any policy does not need more memory than
// a good one.
const maxPairs = 20_000

// findings are the findings of single pairs, by what they have in common.
type findings struct {
	byReason map[string][]*Finding
	kept     int
	dropped  int // pairs beyond maxPairs
}

// add adds the traffic of a pair on which rows and policies disagree, split by the ACLs that are to blame.
func (f *findings) add(c *comparison, p *pair, effect Effect, traffic reach.Traffic) {
	switch {
	case traffic.Empty():
		return
	case f.kept >= maxPairs:
		f.dropped++
		return
	}
	parts := map[string]*Finding{}
	for _, r := range traffic.Ranges {
		for _, part := range p.split(r) {
			var acls []Decision
			for _, d := range []intent.Direction{intent.Egress, intent.Ingress} {
				h := p.rows[d]
				if h == nil || p.wants[d].Has(part.Protocol, part.First) == (effect == Opens) {
					continue
				}
				s := h.at(part)
				if s.Step.Verdict.Allows() == (effect == Opens) {
					acls = append(acls, c.decision(d, s.Step.ACL))
				}
			}
			key := fmt.Sprint(acls)
			if parts[key] == nil {
				parts[key] = &Finding{Effect: effect, ACLs: acls, from: p.from, to: p.to, Family: familyName(p.from.class.Family)}
			}
			parts[key].traffic.Ranges = append(parts[key].traffic.Ranges, part)
		}
	}
	for key, finding := range parts {
		finding.traffic.Ranges = intent.MergePorts(finding.traffic.Ranges)
		finding.Traffic = finding.traffic.String()
		key = strings.Join([]string{string(effect), finding.Traffic, key}, "|")
		f.byReason[key] = append(f.byReason[key], finding)
		f.kept++
	}
}

// split splits a range where another ACL decides, or the policies of one direction decide otherwise.
func (p *pair) split(r intent.PortRange) []intent.PortRange {
	starts := []int{int(r.First)}
	cut := func(first, last uint16) {
		for _, n := range []int{int(first), int(last) + 1} {
			if n > int(r.First) && n <= int(r.Last) {
				starts = append(starts, n)
			}
		}
	}
	for d, h := range p.rows {
		if h == nil {
			continue
		}
		for _, s := range h.spans {
			if s.Protocol == uint8(r.Protocol) {
				cut(s.First, s.Last)
			}
		}
		for _, w := range p.wants[d].Ranges {
			if w.Protocol == r.Protocol {
				cut(w.First, w.Last)
			}
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	var out []intent.PortRange
	for i, first := range starts {
		last := int(r.Last)
		if i+1 < len(starts) {
			last = starts[i+1] - 1
		}
		out = append(out, intent.PortRange{Protocol: r.Protocol, First: uint16(first), Last: uint16(last)}) //nolint:gosec // ports
	}
	return out
}

// at is the span that has a range.
func (h *half) at(r intent.PortRange) nbtrace.Span {
	for _, s := range h.spans {
		if s.Protocol == uint8(r.Protocol) && s.First <= r.First && r.First <= s.Last {
			return s
		}
	}
	return nbtrace.Span{}
}

// decision describes an ACL; nil is none.
func (c *comparison) decision(d intent.Direction, acl *nbtrace.ACL) Decision {
	out := Decision{Direction: d.String()}
	if acl == nil {
		return out
	}
	out.UUID, out.Name, out.Tier, out.Priority = acl.UUID, acl.Name, acl.Tier, acl.Priority
	out.Action, out.Match, out.Origin = acl.Action, acl.Match, c.origins.of(acl)
	return out
}

// merge joins findings that differ in their ends only, and orders them.
func (f *findings) merge(c *comparison) []*Finding {
	var out []*Finding
	for _, same := range f.byReason {
		for _, finding := range same {
			finding.From, finding.To = *c.show(finding.from), *c.show(finding.to)
			c.explain(finding)
		}
		byPolicies := map[string][]*Finding{}
		for _, finding := range same {
			key := strings.Join(finding.Policies, " ")
			byPolicies[key] = append(byPolicies[key], finding)
		}
		for _, list := range byPolicies {
			for _, finding := range joinEnds(list) {
				if !c.dual(&finding.From) || !c.dual(&finding.To) {
					finding.Family = "" // it is evident
				}
				out = append(out, finding)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Finding) int {
		return cmp.Or(
			-cmp.Compare(a.Effect, b.Effect), cmp.Compare(keyOf(&a.From), keyOf(&b.From)), cmp.Compare(keyOf(&a.To), keyOf(&b.To)),
			cmp.Compare(a.Family, b.Family), cmp.Compare(a.Traffic, b.Traffic), cmp.Compare(fmt.Sprint(a.ACLs), fmt.Sprint(b.ACLs)),
		)
	})
	return out
}

// dual reports whether a pod of a group has addresses of both families.
func (c *comparison) dual(g *reach.Group) bool {
	return slices.ContainsFunc(g.Pods, func(name string) bool { return c.dualPods[name] })
}

// joinEnds merges findings with the same destinations, then those with the same sources, then those of both families.
func joinEnds(list []*Finding) []*Finding {
	slices.SortFunc(list, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(keyOf(&a.From), keyOf(&b.From)), cmp.Compare(keyOf(&a.To), keyOf(&b.To)), cmp.Compare(a.Family, b.Family))
	})
	list = join(list, func(f *Finding) string { return keyOf(&f.To) + f.Family }, func(f, o *Finding) { addTo(&f.From, &o.From) })
	list = join(list, func(f *Finding) string { return keyOf(&f.From) + f.Family }, func(f, o *Finding) { addTo(&f.To, &o.To) })
	return join(list, func(f *Finding) string {
		if len(f.From.Outside)+len(f.To.Outside) > 0 {
			return keyOf(&f.From) + "->" + keyOf(&f.To) + f.Family
		}
		return keyOf(&f.From) + "->" + keyOf(&f.To)
	}, func(f, _ *Finding) { f.Family = "" })
}

func join(list []*Finding, key func(*Finding) string, add func(to, from *Finding)) []*Finding {
	first := map[string]*Finding{}
	var out []*Finding
	for _, f := range list {
		k := key(f)
		if known := first[k]; known != nil {
			add(known, f)
			continue
		}
		first[k] = f
		out = append(out, f)
	}
	return out
}

func addTo(g, o *reach.Group) {
	g.Pods = slices.Concat(g.Pods, o.Pods)
	slices.Sort(g.Pods)
	g.Pods = slices.Compact(g.Pods)
	g.Outside = intent.MergePrefixes(slices.Concat(g.Outside, o.Outside))
}

func keyOf(g *reach.Group) string { return strings.Join(g.Pods, " ") + fmt.Sprint(g.Outside) }
