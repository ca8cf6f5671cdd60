package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Side is the verdict of the policies at one end of a connection: the source for egress, the destination for ingress.
type Side struct {
	Verdict Verdict `json:"verdict"`
	// Cluster is the cluster whose policies decide, if that is not the own one.
	Cluster string `json:"cluster,omitempty"`
	Note    string `json:"note,omitempty"` // why the verdict is unknown
	// Tier is the tier of cluster-wide policies that decides: admin or baseline; "" if none of the two does.
	Tier string `json:"tier,omitempty"`
	// IsolatedBy are the NetworkPolicies that select the end in this direction, if the evaluation comes to them.
	IsolatedBy []string `json:"isolatedBy,omitempty"`
	// Fitting are those of IsolatedBy that select only the end and pods like it: a rule in any other applies to more.
	Fitting   []string     `json:"fitting,omitempty"`
	AllowedBy []world.Rule `json:"allowedBy,omitempty"` // the rules that allow it
	DeniedBy  []world.Rule `json:"deniedBy,omitempty"`  // the rules that deny it; none if isolation does
	PassedBy  []world.Rule `json:"passedBy,omitempty"`  // the rules of earlier tiers that pass it on
	// NearMisses are the rules that match except for one condition.
	NearMisses []world.Rule `json:"nearMisses,omitempty"`
	// Rows are the rows by which a data plane decides, if requested: see Where.
	Rows []Row `json:"rows,omitempty"`
	// Itself means that source and destination are the same, to which no policy applies.
	Itself bool `json:"itself,omitempty"`

	// network is what would have to change if a network denies it; "" if none does.
	network string
	unsure  []string // rules that may match another address of the other end, which is made up
}

// connection is a flow that policies evaluate, with the displayed names of its ends.
type connection struct {
	intent.Flow
	from, to string
	rows     RowNamer // nil names none
}

// sides describes both directions of a verdict.
func sides(w *world.World, c *connection, egress, ingress intent.Decision) (*Side, *Side) {
	if c.Src.Addr == c.Dst.Addr {
		return &Side{Verdict: Allow, Itself: true}, &Side{Verdict: Allow, Itself: true}
	}
	return sideAt(w, intent.Egress, c, egress), sideAt(w, intent.Ingress, c, ingress)
}

func side(w *world.World, d intent.Direction, c *connection, decision intent.Decision) *Side {
	s := &Side{Verdict: verdictOf(decision.Allowed), PassedBy: w.Rules(decision.Passed)}
	subject, _ := world.Parties(&c.Flow, d)
	policies := w.PoliciesOf(d, subject)
	s.unsure = unsure(w, policies, d, c, decision)
	if len(decision.By) == 0 || decision.Tier == intent.TierSystem && !slices.ContainsFunc(policies, mayDeny) {
		return s
	}
	s.Rows = c.rowsOf(d, decision)
	if decision.Tier.Ordered() {
		s.Tier = decision.Tier.String()
	}
	for _, p := range policies {
		if p.Isolates && (decision.Isolated || decision.Tier == intent.TierSystem) {
			s.IsolatedBy = append(s.IsolatedBy, p.Origin.String())
			if !decision.Allowed && w.SelectsOnly(p, subject) {
				s.Fitting = append(s.Fitting, p.Origin.String())
			}
		}
	}
	switch {
	case decision.Allowed:
		s.AllowedBy = w.Rules(decision.By)
	case decision.By[0].Rule >= 0:
		s.DeniedBy = w.Rules(decision.By)
		s.network = ofNetwork(w.State.Snapshot.Policy(decision.By[0].Policy))
	default:
		s.NearMisses = nearMisses(w, policies, d, c)
	}
	return s
}

// ofNetwork is what would have to change if a policy stands for a network; "" for any other.
func ofNetwork(p *intent.Policy) string {
	switch {
	case !object.IsNetwork(p.Origin.Kind):
		return ""
	case p.Tier == intent.TierBaseline:
		return fmt.Sprintf("add the block of the source to spec.allowSubnets of %s, or allow it by a NetworkPolicy", p.Origin)
	}
	return fmt.Sprintf("no policy can allow it: only pods on %s reach each other", p.Origin)
}

// unsure lists the rules that match or not according to an address that is made up, if they matter: not where other rules allow.
func unsure(w *world.World, policies []*intent.Policy, d intent.Direction, c *connection, decision intent.Decision) []string {
	_, peer := world.Parties(&c.Flow, d)
	if w.State.MadeUp == nil || !w.State.MadeUp(peer.Addr) {
		return nil
	}
	depends := func(r *intent.Rule) bool {
		set := w.State.Snapshot.Set(r.Peer.Set)
		return r.Peer.Kind == intent.PeerSet && r.Ports.Has(c.Protocol, c.Port) && !set.HasKey(peer.Key) &&
			world.BlockDepends(set, peer.Addr.Is4(), peer.Addr)
	}
	firm := decision.Allowed && slices.ContainsFunc(decision.By, func(by intent.RuleRef) bool {
		p := w.State.Snapshot.Policy(by.Policy)
		return p != nil && by.Rule >= 0 && !depends(&p.Rules[by.Rule])
	})
	var out []string
	for _, p := range policies {
		if object.IsNetwork(p.Origin.Kind) {
			continue // it is known which pods are on it
		}
		for i := range p.Rules {
			if r := &p.Rules[i]; (!firm || p.Tier != intent.TierNetworkPolicy) && depends(r) {
				out = append(out, p.Origin.String()+" "+r.Path)
			}
		}
	}
	return slices.Compact(out)
}

// mayDeny reports whether a policy may deny anything at all.
func mayDeny(p *intent.Policy) bool {
	return p.Tier != intent.TierSystem || object.IsNetwork(p.Origin.Kind)
}

// nearMisses lists the rules of isolating policies that match except for one condition.
func nearMisses(w *world.World, policies []*intent.Policy, d intent.Direction, c *connection) []world.Rule {
	var out []world.Rule
	for _, p := range policies {
		if !p.Isolates {
			continue
		}
		for i := range p.Rules {
			if reason := misses(w, &p.Rules[i], d, c); reason != "" {
				out = append(out, world.Rule{Policy: p.Origin.String(), Path: p.Rules[i].Path, Reason: reason})
			}
		}
		out = append(out, undeclared(w, p, c)...)
	}
	return world.MergeRules(out)
}

// undeclared lists the rules of a policy that name ports which no selected pod declares.
func undeclared(w *world.World, p *intent.Policy, c *connection) []world.Rule {
	var out []world.Rule
	for _, u := range p.UndeclaredIn(w.State.Snapshot) {
		if u.Protocol == c.Protocol && w.MayAdmit(p, &u, c.Src) {
			out = append(out, world.Rule{Policy: p.Origin.String(), Path: u.Path, Reason: fmt.Sprintf("names the port %q, which no selected pod declares", u.Name)})
		}
	}
	return out
}

// misses returns why a rule does not match, if there is exactly one reason. A named port that the subject has under another
// number, or not at all, is not a reason.
func misses(w *world.World, r *intent.Rule, d intent.Direction, c *connection) string {
	if r.Action != intent.Allow {
		return ""
	}
	name := c.to
	if d == intent.Ingress {
		name = c.from
	}
	switch w.Match(r, d, &c.Flow) {
	case world.Matching{Subject: true, Peer: true}:
		return "only allows " + strings.Join(r.Ports.Strings(), ", ")
	case world.Matching{Subject: true, Ports: true}:
		return fmt.Sprintf("allows %s, but %s does not match", world.TitleOf(w.State.Snapshot.Set(r.Peer.Set)), name)
	default:
		return ""
	}
}

// sideAt judges one direction by the policies of each cluster that may select the subject. One that denies decides; without
// one, what is not known keeps the verdict unknown. The decision is that of the world's own policies.
func sideAt(w *world.World, d intent.Direction, c *connection, decision intent.Decision) *Side {
	subject, _ := world.Parties(&c.Flow, d)
	var out *Side
	for _, member := range w.Holders(subject) {
		var s *Side
		switch {
		case !member.Judges():
			s = &Side{Verdict: VerdictUnknown, Note: undecided(member, d, c)}
		case member == w:
			s = side(w, d, c, decision)
		default:
			elsewhere := *c
			elsewhere.rows = nil // they are rows of the own cluster
			s = side(member, d, &elsewhere, member.State.Snapshot.Decide(c.Flow, d, member.PoliciesOf(d, subject)))
		}
		if member != w.Home() {
			s.Cluster = member.State.Cluster
		}
		if out == nil || s.Verdict.rank() < out.Verdict.rank() {
			out = s
		}
	}
	return out
}

// undecided describes a direction that is decided by policies that are not known.
func undecided(w *world.World, d intent.Direction, c *connection) string {
	name := c.from
	if d == intent.Ingress {
		name = c.to
	}
	return fmt.Sprintf("the %s of %s is decided in cluster %s, whose policies were not read", d, name, w.State.Cluster)
}

// rowsOf names the rows of a decision, none if they were not requested or nothing isolates.
func (c *connection) rowsOf(d intent.Direction, decision intent.Decision) []Row {
	if c.rows == nil || len(decision.By) == 0 {
		return nil
	}
	return c.rows(&c.Flow, d, decision.By)
}
