package backendtest

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// FlowText formats a flow for display.
func FlowText(f intent.Flow) string {
	text := fmt.Sprintf("%s -> %s %s/%d", partyText(f.Src), partyText(f.Dst), f.Protocol, f.Port)
	if f.Node != "" {
		text += " at " + f.Node
	}
	if f.Network != "" {
		text += " in " + f.Network
	}
	return text
}

func partyText(p intent.Party) string {
	if p.Key == (object.Key{}) {
		return p.Addr.String()
	}
	return fmt.Sprintf("%s(%s)", p.Key, p.Addr)
}

// misjudged collects flows that are judged wrongly; a few are enough to see what is wrong.
type misjudged struct {
	lines []string
	n     int
}

func (w *misjudged) add(f intent.Flow, format string, args ...any) {
	if w.n++; w.n <= 5 {
		w.lines = append(w.lines, FlowText(f)+": "+fmt.Sprintf(format, args...))
	}
}

func (w *misjudged) require(t *testing.T, target Target) {
	t.Helper()
	if w.n > 0 {
		require.Failf(t, "wrong verdicts", "%d of them:\n%s\nrows:\n%s", w.n, strings.Join(w.lines, "\n"), target.Dump(t))
	}
}

// judge compares the native verdict on every flow with that of the intents. What a skip names may be denied although it
// should be allowed, but never the reverse.
func judge(t *testing.T, target Target, want *intent.Snapshot, skips []backends.Skip, flows []intent.Flow) {
	t.Helper()
	skipped := skippedBy(skips)
	var w misjudged
	for _, f := range flows {
		f = anonymous(target, f)
		v, native := want.Evaluate(f), target.Verdict(t, f)
		if v.Balanced != nil {
			judgeBalanced(&w, f, want, v.Balanced, native, skipped)
			continue
		}
		matches := native.Allowed == v.Allowed || v.Allowed && excused(want, v.Egress, v.Ingress, skipped)
		if !matches || native.Refused || native.Backends != nil {
			w.add(f, "rows say %v, intents %+v", native, v)
		}
	}
	w.require(t, target)
}

func skippedBy(skips []backends.Skip) map[string]bool {
	skipped := make(map[string]bool)
	for _, s := range skips {
		skipped[s.Intent] = true
	}
	return skipped
}

// judgeBalanced compares the results for a flow to a frontend. A target need not distinguish unserved from barred.
func judgeBalanced(
	w *misjudged, f intent.Flow, s *intent.Snapshot, want *intent.Balanced, native Verdict, skipped map[string]bool,
) {
	lax := skipped[string(want.LoadBalancer.ID)]
	matches := func(got bool, c *intent.Choice) bool {
		return got == c.Allowed || c.Allowed && (lax || excused(s, c.Egress, c.Ingress, skipped))
	}
	if native.Refused != (want.Outcome == intent.Refused) && !lax {
		w.add(f, "rows say %v, intents %s", native, want.Outcome)
		return
	}
	choices := make(map[netip.AddrPort]bool)
	for i := range want.Choices {
		c := &want.Choices[i]
		at := c.Backend.AddrPort()
		choices[at] = true
		got, chosen := native.Backends[at]
		switch {
		case !chosen && !lax:
			w.add(f, "rows do not send it to %s", at)
		case chosen && !matches(got, c):
			w.add(f, "by %s rows say %v, intents %+v", at, got, *c)
		}
	}
	for at := range native.Backends {
		if !choices[at] {
			w.add(f, "rows send it to %s, intents %s", at, want.Outcome)
		}
	}
	if len(native.Backends) == 0 && native.Allowed && !lax {
		w.add(f, "rows send it to no backend, intents %s", want.Outcome)
	}
}

// excused reports whether one of the rules that allow a flow belongs to a skipped policy or names a skipped set.
func excused(s *intent.Snapshot, egress, ingress intent.Decision, skipped map[string]bool) bool {
	for _, d := range []intent.Decision{egress, ingress} {
		for _, ref := range d.By {
			p := s.Policy(ref.Policy)
			if skipped[string(p.ID)] || skipped[string(p.Subject)] {
				return true
			}
			if r := p.Rules[ref.Rule]; skipped[string(r.Subject)] || skipped[string(r.Peer.Set)] {
				return true
			}
		}
	}
	return false
}

// transition is the way of a target from one snapshot to the next. Between two writes of many, the verdicts of both are the same.
type transition struct {
	before, after *intent.Snapshot
	verdicts      map[intent.Flow][2]intent.Verdict
}

func newTransition(before, after *intent.Snapshot) *transition {
	return &transition{before: before, after: after, verdicts: map[intent.Flow][2]intent.Verdict{}}
}

func (x *transition) evaluate(f intent.Flow) (was, will intent.Verdict) {
	v, ok := x.verdicts[f]
	if !ok {
		v = [2]intent.Verdict{x.before.Evaluate(f), x.after.Evaluate(f)}
		x.verdicts[f] = v
	}
	return v[0], v[1]
}

// between checks that the target, during a transition, allows nothing that both snapshots deny and denies nothing that both allow.
// With mayDrop, or for what a skip names, it may deny more.
func between(t *testing.T, target Target, x *transition, skips []backends.Skip, flows []intent.Flow, mayDrop bool) {
	t.Helper()
	skipped := skippedBy(skips)
	var w misjudged
	for _, f := range flows {
		f = anonymous(target, f)
		was, will := x.evaluate(f)
		native := target.Verdict(t, f)
		if was.Balanced != nil || will.Balanced != nil {
			betweenBalanced(&w, f, was, will, native, skipped, mayDrop)
			continue
		}
		if was.Allowed != will.Allowed || native.Allowed == was.Allowed {
			continue
		}
		if lax := was.Allowed && (mayDrop || excused(x.before, was.Egress, was.Ingress, skipped) ||
			excused(x.after, will.Egress, will.Ingress, skipped)); !lax {
			w.add(f, "rows say %v, both states %v", native, was.Allowed)
		}
	}
	w.require(t, target)
}

// betweenBalanced checks a flow that is balanced in one state or in both: a backend that neither state allows is never
// reachable, one that both allow always is, and a frontend that both serve is never without backends.
// With mayDrop, only the first of these counts.
func betweenBalanced(
	w *misjudged, f intent.Flow, was, will intent.Verdict, native Verdict, skipped map[string]bool, mayDrop bool,
) {
	old, next := reachable(was), reachable(will)
	for at, allowed := range native.Backends {
		if allowed && !old[at] && !next[at] {
			w.add(f, "rows let it through to %s, which neither state allows", at)
		}
	}
	if was.Balanced == nil || will.Balanced == nil || mayDrop || skipped[string(was.Balanced.LoadBalancer.ID)] ||
		skipped[string(will.Balanced.LoadBalancer.ID)] {
		return
	}
	for at, allowed := range old {
		if allowed && next[at] && !native.Backends[at] {
			w.add(f, "rows say %v, both states allow %s", native, at)
		}
	}
	if len(old) > 0 && len(next) > 0 && len(native.Backends) == 0 {
		w.add(f, "rows say %v, both states serve it", native)
	}
	if was.Balanced.Outcome == intent.Refused && will.Balanced.Outcome == intent.Refused && !native.Refused {
		w.add(f, "rows say %v, both states refuse it", native)
	}
	if len(old)+len(next) == 0 && len(native.Backends) > 0 {
		w.add(f, "rows send it to %v, both states to no backend", native.Backends)
	}
}

// reachable returns the backends that a flow may be sent to, and whether it arrives there.
func reachable(v intent.Verdict) map[netip.AddrPort]bool {
	m := make(map[netip.AddrPort]bool)
	if v.Balanced != nil {
		for i := range v.Balanced.Choices {
			c := &v.Balanced.Choices[i]
			m[c.Backend.AddrPort()] = c.Allowed
		}
	}
	return m
}
