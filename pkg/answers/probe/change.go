package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// change lists what would have to change for the opposite verdict: all of the lines for a denied connection, any one of
// them for an allowed one. Policies apply to pods only: other ends yield nothing.
func change(w *world.World, c *connection, egress, ingress *Side) []string {
	if egress.Itself {
		return nil
	}
	var lines []string
	for _, side := range []struct {
		*Side
		direction         intent.Direction
		party             intent.Party
		subject, peer, of string
	}{{egress, intent.Egress, c.Src, c.from, c.to, "to"}, {ingress, intent.Ingress, c.Dst, c.to, c.from, "from"}} {
		if side.party.Key == (object.Key{}) && len(w.PodsAt(side.party.Addr)) == 0 {
			continue
		}
		d, what := side.direction.String(), side.of+" "+side.peer+" on "+question.PortText(&c.Flow)
		switch {
		case side.Verdict == VerdictUnknown:
		case egress.Verdict == Allow && ingress.Verdict == Allow:
			lines = append(lines, closing(side.Side, d, side.subject, what))
		case side.Verdict == Deny && len(side.DeniedBy) > 0 && side.network != "":
			lines = append(lines, fmt.Sprintf("%s of %s: %s", d, side.subject, side.network))
		case side.Verdict == Deny && len(side.DeniedBy) > 0:
			lines = append(lines, fmt.Sprintf("%s of %s: allow or pass it in a rule before %s", d, side.subject, some(side.DeniedBy)))
		case side.Verdict == Deny:
			policies := append(slices.Clone(side.Fitting), "a policy that selects only it") // any other would open more
			lines = append(lines, fmt.Sprintf("%s of %s: add a rule %s in %s", d, side.subject, what, name.Or(policies)))
		}
	}
	return lines
}

// Lacks reports whether nothing but rules of NetworkPolicies is missing for the connections: no rule denies them, and all that decides is
// known.
func (a *Answer) Lacks() bool {
	lacks := false
	for _, s := range a.Sides() {
		if s.Verdict == VerdictUnknown || len(s.DeniedBy) > 0 {
			return false
		}
		lacks = lacks || s.Verdict == Deny
	}
	return lacks
}

// Sides lists both directions of every connection, also of those that a Service sends on.
func (a *Answer) Sides() []*Side {
	var out []*Side
	add := func(sides ...*Side) {
		out = append(out, slices.DeleteFunc(sides, func(s *Side) bool { return s == nil })...)
	}
	for i := range a.Flows {
		f := &a.Flows[i]
		add(f.Egress, f.Ingress)
		if f.Service == nil {
			continue
		}
		for k := range f.Service.Choices {
			add(f.Service.Choices[k].Egress, f.Service.Choices[k].Ingress)
		}
	}
	return out
}

// closing describes how a direction that allows a connection could deny it.
func closing(s *Side, direction, subject, what string) string {
	if len(s.AllowedBy) == 0 {
		return fmt.Sprintf("%s of %s: add a policy that selects it and has no rule %s",
			direction, subject, what)
	}
	rules := make([]string, len(s.AllowedBy))
	for i, r := range s.AllowedBy {
		if strings.HasPrefix(r.Policy, "Node/") {
			return fmt.Sprintf("%s of %s: cannot be denied, because a node can always reach its own pods", direction, subject)
		}
		rules[i] = r.String()
	}
	if s.Tier != "" {
		return fmt.Sprintf("%s of %s: deny it in a rule before %s", direction, subject, name.And(rules))
	}
	if len(rules) == 1 {
		return fmt.Sprintf("%s of %s: remove %s", direction, subject, rules[0])
	}
	return fmt.Sprintf("%s of %s: remove all of %s", direction, subject, name.And(rules))
}

// some formats rules as alternatives.
func some(rules []world.Rule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.String()
	}
	return name.And(texts)
}

// changeOfService lists what would have to change for a service to send a flow on.
func changeOfService(f *intent.Flow, b *intent.Balanced) []string {
	service := b.LoadBalancer.Origin.String()
	switch b.Outcome {
	case intent.Refused:
		return []string{service + " has no endpoint: add a pod that is ready"}
	case intent.Unserved:
		at := "the node where the connection enters, which is unknown"
		switch {
		case b.Frontend.Locality == intent.NodeOfFrontend:
			at = "node " + b.Frontend.Node
		case f.Node != "":
			at = "node " + f.Node
		}
		if b.Frontend.Backends.Len() == 0 {
			return []string{service + " has no endpoint: add a pod that is ready"}
		}
		return []string{service + " uses only endpoints on one node: add one on " + at}
	case intent.Barred:
		return []string{fmt.Sprintf("add %s to loadBalancerSourceRanges of %s", f.Src.Addr, service)}
	case intent.SentOn:
	}
	return nil
}
