package world

import (
	"fmt"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

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

// Parties returns the end of a flow that the policies of a direction select, and the other one.
func Parties(f *intent.Flow, d intent.Direction) (subject, peer intent.Party) {
	if d == intent.Ingress {
		return f.Dst, f.Src
	}
	return f.Src, f.Dst
}

// Rules names rules, each once, even if it was translated to several.
func (w *World) Rules(refs []intent.RuleRef) []Rule {
	var out []Rule
	for _, ref := range refs {
		p := w.State.Snapshot.Policy(ref.Policy)
		r := Rule{Policy: p.Origin.String(), Path: p.Rules[ref.Rule].Path, Name: p.Rules[ref.Rule].Name}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// Matching is which parts of a rule match a flow.
type Matching struct{ Subject, Peer, Ports bool }

// Match compares a flow with a rule of a policy that selects the subject.
func (w *World) Match(r *intent.Rule, d intent.Direction, f *intent.Flow) Matching {
	s := w.State.Snapshot
	subject, peer := Parties(f, d)
	m := Matching{Ports: r.Ports.Has(f.Protocol, f.Port), Subject: r.Subject == "" || selects(s.Set(r.Subject), subject)}
	switch r.Peer.Kind {
	case intent.PeerAny:
		m.Peer = true
	case intent.PeerSet:
		m.Peer = s.Set(r.Peer.Set).Contains(peer.Addr)
	case intent.PeerNone:
	}
	return m
}

// MergeRules merges the entries of a rule that was translated to several, such as one for each number of a named port.
func MergeRules(rules []Rule) []Rule {
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

// TitleOf describes a set: its title, its prefixes, or "no pods" for none.
func TitleOf(set *intent.Set) string {
	switch {
	case set == nil:
		return "no pods"
	case set.Members == nil && len(set.Hosts) == 0 && len(set.Prefixes) > 0:
		return intent.PrefixText(set.Prefixes)
	case set.Title == "":
		return string(set.ID)
	default:
		return set.Title
	}
}
