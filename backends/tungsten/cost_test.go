package tungsten_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
)

// TestGrowthOfCalls counts the requests of a load: they are in proportion to the number of policies.
func TestGrowthOfCalls(t *testing.T) {
	calls := map[int]int{}
	for _, n := range []int{20, 80, 320} {
		target := tungstentest.NewTarget(t)
		s := shops(n, n)
		target.Prepare(t, s.Endpoints, nil)
		r := newRig(t, target, "a")
		r.sync(t, s, s.Snapshot())
		calls[n] = sum(target.Calls())
	}
	t.Log(calls)
	perPolicy := float64(calls[80]-calls[20]) / 60
	require.InDelta(t, perPolicy, float64(calls[320]-calls[80])/240, 0.1)
}

// TestGrowthOfPlans counts the operations for 100, 1,000 and 10,000 policies without applying them.
func TestGrowthOfPlans(t *testing.T) {
	r := newRig(t, tungstentest.NewTarget(t), "a")
	ops := map[int]int{}
	for _, n := range []int{100, 1000, 10_000} {
		p, err := r.backend.Plan(t.Context(), shops(n, 0).Snapshot(), 0)
		require.NoError(t, err)
		ops[n] = len(p.Ops)
	}
	t.Log(ops)
	require.Equal(t, (ops[1000]-ops[100])*10, ops[10_000]-ops[1000], "firewall policies are created with their references")
}

// TestCallsOfALabel flips a label of a pod, changes nothing, and restarts.
func TestCallsOfALabel(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s := shops(50, 500)
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	target.Calls()

	flipped := *s
	flipped.Sets = append([]backendtest.SetSpec(nil), s.Sets...)
	key := s.Sets[0].Keys[0]
	flipped.Sets[0].Keys = s.Sets[0].Keys[1:]
	flipped.Sets[7].Keys = append(append(flipped.Sets[7].Keys[:0:0], s.Sets[7].Keys...), key)
	next := backendtest.Advance(snap, &flipped)
	r.sync(t, &flipped, next)
	calls := target.Calls()
	require.Equal(t, 2, calls["add tag"], "one for each role of the set that it joins")
	require.Equal(t, 2, calls["remove tag"])
	require.Equal(t, 1, calls["list global-system-config"], "whether it enforces what is written")
	require.Len(t, calls, 3)

	r.sync(t, &flipped, next)
	require.Empty(t, target.Calls(), "what did not change causes no call")

	r = newRig(t, target, "a")
	p := r.sync(t, &flipped, next)
	require.True(t, p.Empty(), "a restart writes nothing")
	for what := range target.Calls() {
		require.True(t, strings.HasPrefix(what, "list "), what)
	}
}

// TestOrderDoesNotRunOut adds and removes policies many times: the places of rules do not depend on the past.
func TestOrderDoesNotRunOut(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s := shops(3, 6)
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	before := target.DumpOwner(t, "a")
	less := *s
	less.Policies = s.Policies[2:]
	extra := admin("extra", intent.Ingress, "shop-1", rule(intent.Deny, "shop-2", tcp(1, 9)))
	for i := range *cycles {
		state := &less
		if i%2 == 1 {
			more := *s
			more.Policies = append(append([]intent.Policy(nil), s.Policies...), extra)
			state = &more
		}
		for _, to := range []*backendtest.State{state, s} {
			snap = backendtest.Advance(snap, to)
			r.sync(t, to, snap)
		}
	}
	require.Equal(t, before, target.DumpOwner(t, "a"))
	r.judge(t, s, snap)
}
