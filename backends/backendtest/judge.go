package backendtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// FlowText spells a flow for people.
func FlowText(f intent.Flow) string {
	return fmt.Sprintf("%s -> %s %s/%d", partyText(f.Src), partyText(f.Dst), f.Protocol, f.Port)
}

func partyText(p intent.Party) string {
	if p.Key == (intent.Key{}) {
		return p.Addr.String()
	}
	return fmt.Sprintf("%s(%s)", p.Key, p.Addr)
}

// wrongs collects flows that are judged wrongly; a few are enough to see what is the matter.
type wrongs struct {
	lines []string
	n     int
}

func (w *wrongs) add(f intent.Flow, format string, args ...any) {
	if w.n++; w.n <= 5 {
		w.lines = append(w.lines, FlowText(f)+": "+fmt.Sprintf(format, args...))
	}
}

func (w *wrongs) require(t *testing.T, target Target) {
	t.Helper()
	if w.n > 0 {
		require.Failf(t, "wrong verdicts", "%d of them:\n%s\nrows:\n%s", w.n, strings.Join(w.lines, "\n"), target.Dump(t))
	}
}

// judge compares the native verdict on every flow with that of the intents. What a skip names may be denied although it
// should be allowed, never the other way round.
func judge(t *testing.T, target Target, want *intent.Snapshot, skips []backends.Skip, flows []intent.Flow) {
	t.Helper()
	skipped := make(map[string]bool)
	for _, s := range skips {
		skipped[s.Intent] = true
	}
	var w wrongs
	for _, f := range flows {
		v, native := want.Evaluate(f), target.Verdict(t, f)
		if native == v.Allowed || v.Allowed && excused(want, v, skipped) {
			continue
		}
		w.add(f, "rows say %v, intents %+v", native, v)
	}
	w.require(t, target)
}

// excused says whether one of the rules that allow v belongs to a skipped policy or names a skipped set.
func excused(s *intent.Snapshot, v intent.Verdict, skipped map[string]bool) bool {
	for _, d := range []intent.Decision{v.Egress, v.Ingress} {
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

// between checks that the target, on its way from one snapshot to the next, allows nothing that both deny and denies
// nothing that both allow.
func between(t *testing.T, target Target, before, after *intent.Snapshot, flows []intent.Flow) {
	t.Helper()
	var w wrongs
	for _, f := range flows {
		was, will := before.Evaluate(f).Allowed, after.Evaluate(f).Allowed
		if was != will {
			continue
		}
		if native := target.Verdict(t, f); native != was {
			w.add(f, "rows say %v, both states %v", native, was)
		}
	}
	w.require(t, target)
}
