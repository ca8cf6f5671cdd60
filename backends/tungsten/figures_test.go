package tungsten_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
)

var (
	cycles   = flag.Int("tungsten.cycles", 100, "how often policies come and go")
	policies = flag.Int("tungsten.policies", 100, "how many policies to measure")
	perOne   = flag.Int("tungsten.pods", 10, "and pods for each")
)

// TestFigures measures a load, a label, an edit and a restart. See docs/tungsten.md for larger sizes.
func TestFigures(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s := shops(*policies, *policies**perOne)
	target.Prepare(t, s.Endpoints, nil)
	snap := s.Snapshot()
	r := newRig(t, target, "a")
	start := time.Now()
	p, err := r.try(t, snap)
	require.NoError(t, err)
	t.Logf("load: %d ops, %d calls, %v: %v", len(p.Ops), sum(target.Calls()), time.Since(start).Round(time.Millisecond), p.Summary())

	flipped, next := *s, snap
	for i := range 3 { // the first flip after a load is slower
		flipped.Sets = append([]backendtest.SetSpec(nil), flipped.Sets...)
		flipped.Sets[i].Keys = s.Sets[i].Keys[1:]
		next = backendtest.Advance(next, &flipped)
		target.Calls()
		start = time.Now()
		p, err = r.try(t, next)
		require.NoError(t, err)
		t.Logf("label: %d ops, %d calls, %v", len(p.Ops), sum(target.Calls()), time.Since(start).Round(time.Microsecond))
	}

	edited := flipped
	edited.Policies = append(edited.Policies[:0:0], flipped.Policies...)
	edited.Policies[0] = policy("p-0", edited.Policies[0].Direction, "shop-0")
	last := backendtest.Advance(next, &edited)
	start = time.Now()
	p, err = r.try(t, last)
	require.NoError(t, err)
	t.Logf("policy: %d ops, %d calls, %v", len(p.Ops), sum(target.Calls()), time.Since(start).Round(time.Microsecond))

	r = newRig(t, target, "a")
	start = time.Now()
	p, err = r.try(t, last)
	require.NoError(t, err)
	require.True(t, p.Empty())
	t.Logf("restart: %d calls, %v", sum(target.Calls()), time.Since(start).Round(time.Millisecond))
}
