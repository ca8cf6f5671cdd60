package upgrade

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
)

// Bounds are the verdicts that a flow may have on the way between states in which a target is in sync: what all of them deny is never open,
// and what all of them allow is never cut.
type Bounds struct {
	target *ovntest.Target // nil for those of BoundsOf
	flows  []intent.Flow
	synced [][]backendtest.Verdict // by state, in the order of flows
}

// BoundsOf returns the bounds of flows whose verdicts were, in states in which a target is in sync, these.
func BoundsOf(flows []intent.Flow, synced ...[]backendtest.Verdict) *Bounds {
	return &Bounds{flows: flows, synced: synced}
}

// NewBounds returns the bounds of flows between states in which the target is in sync.
func NewBounds(t testing.TB, target *ovntest.Target, flows []intent.Flow, synced ...State) *Bounds {
	t.Helper()
	b := &Bounds{target: target, flows: flows}
	for _, s := range synced {
		b.synced = append(b.synced, b.verdicts(t, s))
	}
	return b
}

func (b *Bounds) verdicts(t testing.TB, s State) []backendtest.Verdict {
	t.Helper()
	moment := b.target.Moment(s.Rows(t))
	require.NoError(t, moment.Faults())
	out := make([]backendtest.Verdict, len(b.flows))
	for i, f := range b.flows {
		out[i] = moment.Verdict(t, f)
	}
	return out
}

// Check judges every flow in every state, and fails with those outside the bounds.
func (b *Bounds) Check(t testing.TB, states []State, what string) {
	t.Helper()
	if wrong := b.Faults(t, states); len(wrong) > 0 {
		require.Failf(t, "a window", "%s: %d verdicts:\n%s", what, len(wrong), strings.Join(wrong[:min(len(wrong), 8)], "\n"))
	}
}

// Faults lists the verdicts outside the bounds in any of the states.
func (b *Bounds) Faults(t testing.TB, states []State) []string {
	t.Helper()
	var wrong []string
	for at, s := range states {
		if at > 0 && sameRows(states[at-1], s) {
			continue
		}
		for _, fault := range b.Outside(b.verdicts(t, s)) {
			wrong = append(wrong, fmt.Sprintf("state %d of %d: %s", at, len(states), fault))
		}
	}
	return wrong
}

// Outside lists the verdicts on the flows of a state that are outside the bounds, and how.
func (b *Bounds) Outside(verdicts []backendtest.Verdict) []string {
	var faults []string
	for i, v := range verdicts {
		if fault := b.outside(i, v); fault != "" {
			faults = append(faults, backendtest.FlowText(b.flows[i])+": "+fault)
		}
	}
	return faults
}

// sameRows reports whether no transaction lies between two states that changes what decides on packets.
func sameRows(a, b State) bool {
	for table := range b {
		if table != "NB_Global" && reflect.ValueOf(a[table]).Pointer() != reflect.ValueOf(b[table]).Pointer() {
			return false
		}
	}
	return true
}

// outside says how a verdict on the i-th flow is outside the bounds; "" if it is not.
func (b *Bounds) outside(i int, v backendtest.Verdict) string {
	var allowed, denied, refused, served int
	reached := map[netip.AddrPort]int{}
	for _, all := range b.synced {
		was := all[i]
		switch {
		case was.Refused:
			refused++
		case was.Backends != nil:
			served++
		case was.Allowed:
			allowed++
		default:
			denied++
		}
		for at, ok := range was.Backends {
			if ok {
				reached[at]++
			}
		}
	}
	n := len(b.synced)
	switch {
	case v.Backends == nil && v.Allowed && denied+refused == n:
		return "open, although denied before and after"
	case !v.Allowed && allowed == n:
		return "cut, although allowed before and after"
	case v.Backends == nil && served == n:
		return "sent to no endpoint, although served before and after"
	case !v.Refused && refused == n:
		return "not refused, although it is before and after"
	}
	for at, ok := range v.Backends {
		switch {
		case ok && reached[at] == 0:
			return "reaches " + at.String() + ", which it does neither before nor after"
		case !ok && reached[at] == n:
			return "is kept from " + at.String() + ", which it reaches before and after"
		}
	}
	for at, times := range reached {
		if _, ok := v.Backends[at]; !ok && times == n {
			return "is not sent to " + at.String() + ", which it reaches before and after"
		}
	}
	return ""
}
