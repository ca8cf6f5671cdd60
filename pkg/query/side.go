package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// Side is what the policies of one end say of a connection: those of the source for egress, of the destination for
// ingress.
type Side struct {
	Verdict Verdict `json:"verdict"`
	// IsolatedBy are the policies that select the end in this direction; without any, everything is allowed.
	IsolatedBy []string `json:"isolatedBy,omitempty"`
	AllowedBy  []Rule   `json:"allowedBy,omitempty"` // the rules that let it through
	// Nearly are the rules that would, but for one thing.
	Nearly []Rule `json:"nearly,omitempty"`
	// Itself says that the end talks to itself, which no policy sees.
	Itself bool `json:"itself,omitempty"`
}

// Rule names a rule of a policy.
type Rule struct {
	Policy string `json:"policy"` // such as NetworkPolicy/shop/db
	Path   string `json:"path"`   // such as spec.ingress[0]
	// But is why the rule does not allow the connection; "" where it does.
	But string `json:"but,omitempty"`
}

// String spells r as NetworkPolicy/shop/db spec.ingress[0].
func (r Rule) String() string { return r.Policy + " " + r.Path }

// connection is a flow that policies judge as it stands, with what people call its ends.
type connection struct {
	intent.Flow
	from, to string
}

// sides puts both directions of a verdict in words.
func (inv *Inventory) sides(c *connection, egress, ingress intent.Decision) (*Side, *Side) {
	if c.Src.Addr == c.Dst.Addr {
		return &Side{Verdict: Allow, Itself: true}, &Side{Verdict: Allow, Itself: true}
	}
	return inv.side(intent.Egress, c, egress), inv.side(intent.Ingress, c, ingress)
}

func (inv *Inventory) side(d intent.Direction, c *connection, decision intent.Decision) *Side {
	s := &Side{Verdict: verdictOf(decision.Allowed)}
	if !decision.Isolated {
		return s
	}
	subject := c.Src
	if d == intent.Ingress {
		subject = c.Dst
	}
	policies := inv.policiesOf(d, subject)
	for _, p := range policies {
		if p.Isolates {
			s.IsolatedBy = append(s.IsolatedBy, p.Origin.String())
		}
	}
	if decision.Allowed {
		for _, ref := range decision.By {
			p := inv.state.Snapshot.Policy(ref.Policy)
			s.addAllowing(Rule{Policy: p.Origin.String(), Path: p.Rules[ref.Rule].Path})
		}
		return s
	}
	for _, p := range policies {
		if !p.Isolates {
			continue // nobody thinks of a node's access to its own pods as nearly meant for him
		}
		for i := range p.Rules {
			if but := inv.misses(&p.Rules[i], d, c); but != "" {
				s.Nearly = append(s.Nearly, Rule{Policy: p.Origin.String(), Path: p.Rules[i].Path, But: but})
			}
		}
	}
	s.Nearly = mergeNearly(s.Nearly)
	return s
}

// addAllowing adds a rule once: it may have become several.
func (s *Side) addAllowing(r Rule) {
	if !slices.Contains(s.AllowedBy, r) {
		s.AllowedBy = append(s.AllowedBy, r)
	}
}

// misses says why a rule does not match, if there is one reason only.
func (inv *Inventory) misses(r *intent.Rule, d intent.Direction, c *connection) string {
	if r.Action != intent.Allow {
		return ""
	}
	subject, peer, name := c.Src, c.Dst, c.to
	if d == intent.Ingress {
		subject, peer, name = c.Dst, c.Src, c.from
	}
	var reasons []string
	if !r.Ports.Has(c.Protocol, c.Port) {
		reasons = append(reasons, "it allows "+strings.Join(r.Ports.Strings(), ", ")+" only")
	}
	if r.Subject != "" && !selects(inv.state.Snapshot.Set(r.Subject), subject) {
		return "" // of a named port that the subject has under another number, or not at all
	}
	if r.Peer.Kind == intent.PeerSet {
		set := inv.state.Snapshot.Set(r.Peer.Set)
		if !set.Contains(peer.Addr) {
			reasons = append(reasons, fmt.Sprintf("it means %s, and %s is not among them", titleOf(set), name))
		}
	}
	if len(reasons) != 1 {
		return ""
	}
	return reasons[0]
}

// mergeNearly joins what one rule became of: one for each number of a named port, say. That it misses by the port
// counts, when it does.
func mergeNearly(rules []Rule) []Rule {
	var out []Rule
	for _, r := range rules {
		i := slices.IndexFunc(out, func(o Rule) bool { return o.Policy == r.Policy && o.Path == r.Path })
		if i < 0 {
			out = append(out, r)
		}
	}
	return out
}

// selects says whether a party is a member: by its key, or by its address when it has none.
func selects(set *intent.Set, p intent.Party) bool {
	if p.Key != (intent.Key{}) {
		return set.HasKey(p.Key)
	}
	return set != nil && set.Members != nil && set.Members.HasAddr(p.Addr)
}

func titleOf(set *intent.Set) string {
	switch {
	case set == nil:
		return "nobody"
	case set.Title == "":
		return string(set.ID)
	default:
		return set.Title
	}
}
