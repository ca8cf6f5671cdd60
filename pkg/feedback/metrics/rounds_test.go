package metrics_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/reconcile"
)

// TestStagesOfRounds has a round with writes, and one without, which does not count.
func TestStagesOfRounds(t *testing.T) {
	m := metrics.New()
	m.Target("ovn")
	m.Round("ovn", &reconcile.Round{
		Operations: 1, Waited: time.Second, Planned: 2 * time.Second, Ordered: 3 * time.Second, Sent: 4 * time.Second, Committed: 5 * time.Second,
	})
	m.Round("ovn", &reconcile.Round{Waited: time.Hour})
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	stages := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "netloom_round_stage_seconds" {
			continue
		}
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				if l.GetName() == "stage" {
					require.EqualValues(t, 1, s.GetHistogram().GetSampleCount())
					stages[l.GetValue()] = s.GetHistogram().GetSampleSum()
				}
			}
		}
	}
	require.Equal(t, map[string]float64{"wait": 1, "plan": 2, "order": 3, "send": 4, "commit": 5}, stages)
}
