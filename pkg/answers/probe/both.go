package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

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

// unknown lists why an answer is unknown.
func (a *Answer) unknown() string {
	var why []string
	add := func(sides ...*Side) {
		for _, s := range sides {
			if s != nil && s.Verdict == VerdictUnknown && !slices.Contains(why, s.Note) {
				why = append(why, s.Note)
			}
		}
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
	return strings.Join(why, "; ")
}

// undecided describes a direction that is decided by policies that are not known.
func undecided(w *world.World, d intent.Direction, c *connection) string {
	name := c.from
	if d == intent.Ingress {
		name = c.to
	}
	return fmt.Sprintf("the %s of %s is decided in cluster %s, whose policies were not read", d, name, w.State.Cluster)
}

// rank orders the verdicts of one direction: what closes a connection comes first.
func (v Verdict) rank() int { return slices.Index([]Verdict{Deny, VerdictUnknown, Allow}, v) }

// both is the verdict of two directions together.
func both(a, b Verdict) Verdict {
	if a.rank() < b.rank() {
		return a
	}
	return b
}

// passesAt is sideAt without the reasons.
func passesAt(w *world.World, d intent.Direction, c *connection, looked *int) Verdict {
	subject, _ := world.Parties(&c.Flow, d)
	out := Allow
	for _, member := range w.Holders(subject) {
		one := VerdictUnknown
		if member.Judges() {
			one = verdictOf(lets(member, d, c, looked))
		}
		out = both(out, one)
	}
	return out
}
