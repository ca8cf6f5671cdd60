package metrics_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/reconcile"
)

// TestThereAreProblemsWhileATargetIsOutOfSync checks that the metrics never show zero problems meanwhile.
func TestThereAreProblemsWhileATargetIsOutOfSync(t *testing.T) {
	m := metrics.New()
	problems := func() float64 { return value(t, m, "netloom_problems", nil) }
	m.Published(metrics.Snapshot{})
	require.Zero(t, problems())
	m.Target("ovn")
	m.Target("openwrt/edge/cnf-0")
	require.InDelta(t, 2, problems(), 0, "neither has been written to")
	m.Converged("ovn", 1, 1)
	m.Converged("openwrt/edge/cnf-0", 1, 1)
	require.Zero(t, problems())
	m.Published(metrics.Snapshot{Problems: 3})
	m.Failed("ovn", reconcile.PhaseApply, errors.New("no"))
	require.InDelta(t, 4, problems(), 0)
	m.Published(metrics.Snapshot{})
	require.InDelta(t, 1, problems(), 0)
	m.Rest("ovn")
	require.Zero(t, problems(), "another instance writes to it")
	m.Failed("openwrt/edge/cnf-0", reconcile.PhasePlan, errors.New("no"))
	m.Forget("openwrt/edge/cnf-0")
	require.Zero(t, problems(), "it is gone")
}
