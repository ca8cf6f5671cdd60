package reach

import (
	"fmt"
	"strings"
	"sync"

	"github.com/netloom/netloom/pkg/intent"
)

// ordered is the rules of ordered tiers that some classes have in common in one direction, in order of evaluation. If the system
// tier has rules that deny, it is among them. It is safe for concurrent use.
type ordered struct {
	steps    []step
	key      string   // identifies the steps
	outcomes sync.Map // by view.place of the peer: *outcome
}

// step is a rule of such a list.
type step struct {
	tier   intent.Tier
	action intent.Action
	set    intent.SetID // the peers; "" is every peer
	ports  Traffic
}

// outcome is what a list of steps decides for a peer.
type outcome struct {
	allowed  Traffic // before NetworkPolicies are evaluated
	rest     Traffic // on which they decide
	baseline Traffic // is allowed if it is of the rest and they do not decide
}

// outcomeFor returns what the list decides for a peer; nil decides nothing.
func (o *ordered) outcomeFor(peer *view) *outcome {
	if o == nil {
		return &outcome{rest: All(), baseline: All()}
	}
	known, ok := o.outcomes.Load(peer.place)
	if !ok {
		known, _ = o.outcomes.LoadOrStore(peer.place, o.evaluate(peer))
	}
	return known.(*outcome) //nolint:forcetypeassert // nothing else is stored
}

// evaluate applies the steps tier by tier: of a tier, the first step that matches decides.
func (o *ordered) evaluate(peer *view) *outcome {
	system := o.apply(intent.TierSystem, peer, All())
	admin := o.apply(intent.TierAdmin, peer, system.undecided)
	baseline := o.apply(intent.TierBaseline, peer, All())
	return &outcome{
		allowed:  system.allowed.Union(admin.allowed),
		rest:     admin.undecided.Union(admin.passed),
		baseline: baseline.allowed.Union(baseline.passed).Union(baseline.undecided),
	}
}

// decided is what the steps of a tier make of some traffic. What is in none of the three is denied.
type decided struct{ allowed, passed, undecided Traffic }

// apply applies the steps of one tier to some traffic.
func (o *ordered) apply(t intent.Tier, peer *view, traffic Traffic) decided {
	out := decided{undecided: traffic}
	for i := range o.steps {
		s := &o.steps[i]
		if s.tier != t || s.set != "" && !peer.sets[s.set] {
			continue
		}
		if out.undecided.Empty() {
			break
		}
		matched := out.undecided.Intersect(s.ports)
		out.undecided = out.undecided.Minus(s.ports)
		switch {
		case s.action == intent.Allow:
			out.allowed = out.allowed.Union(matched)
		case s.action == intent.Pass && t.Ordered():
			out.passed = out.passed.Union(matched)
		}
	}
	return out
}

// keyOf identifies steps.
func keyOf(steps []step) string {
	var b strings.Builder
	for i := range steps {
		s := &steps[i]
		fmt.Fprintf(&b, "%s %s %q %s;", s.tier, s.action, s.set, s.ports.key())
	}
	return b.String()
}

// equal reports whether two lists have the same steps.
func (o *ordered) equal(p *ordered) bool {
	return o == nil && p == nil || o != nil && p != nil && o.key == p.key
}
