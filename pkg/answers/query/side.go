package query

import (
	"fmt"
	"slices"
	"strings"

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
	AllowedBy  []Rule   `json:"allowedBy,omitempty"` // the rules that allow it
	DeniedBy   []Rule   `json:"deniedBy,omitempty"`  // the rules that deny it; none if isolation does
	PassedBy   []Rule   `json:"passedBy,omitempty"`  // the rules of earlier tiers that pass it on
	// NearMisses are the rules that match except for one condition.
	NearMisses []Rule `json:"nearMisses,omitempty"`
	// Rows are the rows by which a data plane decides, if requested: see Where.
	Rows []Row `json:"rows,omitempty"`
	// Itself means that source and destination are the same, to which no policy applies.
	Itself bool `json:"itself,omitempty"`
}

// Rule names a rule of a policy.
type Rule struct {
	Policy string `json:"policy"` // such as NetworkPolicy/shop/db
	Path   string `json:"path"`   // such as spec.ingress[0]
	Name   string `json:"name,omitempty"`
	Action string `json:"action,omitempty"` // deny or pass, among rules that may also allow
	// Reason is why the rule does not allow the connection, such as "only allows tcp/80"; "" if it does.
	Reason string `json:"reason,omitempty"`
}

// String formats r as NetworkPolicy/shop/db spec.ingress[0], followed by its name in quotes and its action in parentheses if it has
// any.
func (r Rule) String() string {
	text := r.Policy + " " + r.Path
	if r.Name != "" {
		text += fmt.Sprintf(" %q", r.Name)
	}
	if r.Action != "" {
		text += " (" + r.Action + ")"
	}
	return text
}

// connection is a flow that policies evaluate, with the displayed names of its ends.
type connection struct {
	intent.Flow
	from, to string
	rows     RowNamer // nil names none
}

// parties returns the end that the policies of a direction select, and the other one.
func (c *connection) parties(d intent.Direction) (subject, peer intent.Party) {
	if d == intent.Ingress {
		return c.Dst, c.Src
	}
	return c.Src, c.Dst
}

// sides describes both directions of a verdict.
func (inv *Inventory) sides(c *connection, egress, ingress intent.Decision) (*Side, *Side) {
	if c.Src.Addr == c.Dst.Addr {
		return &Side{Verdict: Allow, Itself: true}, &Side{Verdict: Allow, Itself: true}
	}
	return inv.sideAt(intent.Egress, c, egress), inv.sideAt(intent.Ingress, c, ingress)
}

func (inv *Inventory) side(d intent.Direction, c *connection, decision intent.Decision) *Side {
	s := &Side{Verdict: verdictOf(decision.Allowed), PassedBy: inv.rules(decision.Passed)}
	subject, _ := c.parties(d)
	policies := inv.policiesOf(d, subject)
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
		}
	}
	switch {
	case decision.Allowed:
		s.AllowedBy = inv.rules(decision.By)
	case decision.By[0].Rule >= 0:
		s.DeniedBy = inv.rules(decision.By)
	default:
		s.NearMisses = inv.nearMisses(policies, d, c)
	}
	return s
}

// mayDeny reports whether a policy may deny anything at all.
func mayDeny(p *intent.Policy) bool { return p.Tier != intent.TierSystem }

// rules names rules, each once, even if it was translated to several.
func (inv *Inventory) rules(refs []intent.RuleRef) []Rule {
	var out []Rule
	for _, ref := range refs {
		p := inv.state.Snapshot.Policy(ref.Policy)
		r := Rule{Policy: p.Origin.String(), Path: p.Rules[ref.Rule].Path, Name: p.Rules[ref.Rule].Name}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// nearMisses lists the rules of isolating policies that match except for one condition.
func (inv *Inventory) nearMisses(policies []*intent.Policy, d intent.Direction, c *connection) []Rule {
	var out []Rule
	for _, p := range policies {
		if !p.Isolates {
			continue
		}
		for i := range p.Rules {
			if reason := inv.misses(&p.Rules[i], d, c); reason != "" {
				out = append(out, Rule{Policy: p.Origin.String(), Path: p.Rules[i].Path, Reason: reason})
			}
		}
	}
	return mergeNearMisses(out)
}

// matching is which parts of a rule match a connection.
type matching struct{ subject, peer, ports bool }

// match compares a connection with a rule of a policy that selects the subject.
func (inv *Inventory) match(r *intent.Rule, d intent.Direction, c *connection) matching {
	s := inv.state.Snapshot
	subject, peer := c.parties(d)
	m := matching{ports: r.Ports.Has(c.Protocol, c.Port), subject: r.Subject == "" || selects(s.Set(r.Subject), subject)}
	switch r.Peer.Kind {
	case intent.PeerAny:
		m.peer = true
	case intent.PeerSet:
		m.peer = s.Set(r.Peer.Set).Contains(peer.Addr)
	case intent.PeerNone:
	}
	return m
}

// misses returns why a rule does not match, if there is exactly one reason. A named port that the subject has under another
// number, or not at all, is not a reason.
func (inv *Inventory) misses(r *intent.Rule, d intent.Direction, c *connection) string {
	if r.Action != intent.Allow {
		return ""
	}
	name := c.to
	if d == intent.Ingress {
		name = c.from
	}
	switch inv.match(r, d, c) {
	case matching{subject: true, peer: true}:
		return "only allows " + strings.Join(r.Ports.Strings(), ", ")
	case matching{subject: true, ports: true}:
		return fmt.Sprintf("allows %s, but %s does not match", titleOf(inv.state.Snapshot.Set(r.Peer.Set)), name)
	default:
		return ""
	}
}

// mergeNearMisses merges the entries of a rule that was translated to several, such as one for each number of a named port.
func mergeNearMisses(rules []Rule) []Rule {
	var out []Rule
	for _, r := range rules {
		i := slices.IndexFunc(out, func(o Rule) bool { return o.Policy == r.Policy && o.Path == r.Path })
		if i < 0 {
			out = append(out, r)
		}
	}
	return out
}

// selects reports whether a party is a member: by its key, or by its address if it has none.
func selects(set *intent.Set, p intent.Party) bool {
	if p.Key != (object.Key{}) {
		return set.HasKey(p.Key)
	}
	return set != nil && set.Members != nil && (set.Members.HasAddr(p.Addr) || set.Members.HasSharedAddr(p.Addr))
}

func titleOf(set *intent.Set) string {
	switch {
	case set == nil:
		return "no pods"
	case set.Members == nil && len(set.Hosts) == 0 && len(set.Prefixes) > 0:
		return PrefixText(set.Prefixes)
	case set.Title == "":
		return string(set.ID)
	default:
		return set.Title
	}
}
