package tungsten_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
)

// TestAnHourAtRest reads everything back as often as in an hour at an interval of 30 s, while every fifth reading fails in one way or
// another and the change stream is cut again and again. Nothing is written.
func TestAnHourAtRest(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s := shops(10, 30)
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	writes := target.Server.Stats().Writes
	luck := rand.New(rand.NewPCG(35, 1))
	kinds := []simulator.Fault{
		simulator.Fail, simulator.Cut, simulator.Conflict, simulator.NotFound, simulator.Unavailable, simulator.ExpiredToken, simulator.Restart,
	}
	faults := 0
	target.Server.Inject(func(c simulator.Call) simulator.Fault {
		if luck.IntN(5) > 0 {
			return simulator.NoFault
		}
		faults++
		return kinds[luck.IntN(len(kinds))]
	})
	whole := 0
	for range 120 {
		if luck.IntN(4) == 0 {
			target.Show(false)
			target.Show(true)
		}
		r.reached = 0
		p, err := r.try(t, snap)
		if err != nil {
			continue
		}
		whole++
		require.Empty(t, p.Ops)
		require.Empty(t, p.Skips)
	}
	target.Server.Inject(nil)
	require.Equal(t, writes, target.Server.Stats().Writes, "%d readings failed", faults)
	require.Greater(t, faults, 50)
	require.Greater(t, whole, 5)
	r.judge(t, s, snap)
}
