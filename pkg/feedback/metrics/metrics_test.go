package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// value reads one sample: the value of a counter or gauge, the number of observations of a histogram.
func value(t *testing.T, m *metrics.Metrics, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, s := range f.GetMetric() {
			if !carries(s, labels) {
				continue
			}
			switch {
			case s.Counter != nil:
				return s.GetCounter().GetValue()
			case s.Histogram != nil:
				return float64(s.GetHistogram().GetSampleCount())
			default:
				return s.GetGauge().GetValue()
			}
		}
	}
	return 0
}

func carries(s *dto.Metric, labels map[string]string) bool {
	for _, l := range s.GetLabel() {
		if want, ok := labels[l.GetName()]; ok && want != l.GetValue() {
			return false
		}
	}
	return true
}

func on(target string) map[string]string { return map[string]string{"target": target} }

func TestALoopIsCounted(t *testing.T) {
	m := metrics.New()
	m.Target("ovn")
	require.Zero(t, value(t, m, "netloom_target_up", on("ovn")))

	p := &backends.Plan{
		Revision: 1, Full: true, ReadBack: backends.ReadBackStart, Owned: 3, Skips: []backends.Skip{{Intent: "x"}},
		Ops: []backends.Op{
			{Verb: backends.Create, Kind: "ACL"},
			{Verb: backends.Create, Kind: "ACL"},
			{Verb: backends.Mutate, Kind: "Address_Set"},
		},
	}
	m.Planned("ovn", p, time.Millisecond)
	m.Applied("ovn", p, time.Millisecond)
	m.Converged("ovn", 1, 5)
	require.InDelta(t, 1, value(t, m, "netloom_target_up", on("ovn")), 0)
	require.InDelta(t, 5, value(t, m, "netloom_owned_rows", on("ovn")), 0)
	require.InDelta(t, 1, value(t, m, "netloom_skips", on("ovn")), 0)
	require.InDelta(t, 1, value(t, m, "netloom_target_revision", on("ovn")), 0)
	require.InDelta(t, 2, value(t, m, "netloom_ops_total", map[string]string{"verb": "create", "kind": "ACL"}), 0)
	require.InDelta(t, 1, value(t, m, "netloom_ops_total", map[string]string{"verb": "mutate"}), 0)
	require.InDelta(t, 1, value(t, m, "netloom_plan_duration_seconds", map[string]string{"full": "true"}), 0)
	require.InDelta(t, 1, value(t, m, "netloom_apply_duration_seconds", on("ovn")), 0)

	m.Failed("ovn", reconcile.PhasePlan, context.DeadlineExceeded)
	m.Drift("ovn", 4)
	require.Zero(t, value(t, m, "netloom_target_up", on("ovn")))
	require.InDelta(t, 1, value(t, m, "netloom_target_errors_total", map[string]string{"phase": "plan"}), 0)
	require.InDelta(t, 4, value(t, m, "netloom_drift_found_total", on("ovn")), 0)
}

func TestKeptObjectsAreCountedWhenAsked(t *testing.T) {
	m := metrics.New()
	kept := map[string]int{}
	m.Kept(func() map[string]int { return kept })
	policies := map[string]string{"kind": "NetworkPolicy"}
	require.Zero(t, value(t, m, "netloom_kept_objects", policies))
	kept["NetworkPolicy"], kept["Pod"] = 3, 7
	require.InDelta(t, 3, value(t, m, "netloom_kept_objects", policies), 0)
	require.InDelta(t, 7, value(t, m, "netloom_kept_objects", map[string]string{"kind": "Pod"}), 0)
}

func TestSnapshotsAreCounted(t *testing.T) {
	m := metrics.New()
	m.Event("Pod")
	m.Event("Pod")
	m.Published(metrics.Snapshot{Revision: 7, Endpoints: 4, Sets: 3, Policies: 2, Problems: 1})
	for name, want := range map[string]float64{
		"netloom_events_total": 2, "netloom_translations_total": 1, "netloom_translation_duration_seconds": 1,
		"netloom_snapshot_revision": 7, "netloom_endpoints": 4, "netloom_sets": 3, "netloom_policies": 2,
		"netloom_problems": 1, "netloom_build_info": 1,
	} {
		require.InDelta(t, want, value(t, m, name, nil), 0, name)
	}
}

func TestEveryRevisionIsTimedOncePerTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		publish := func(r intent.Revision) { m.Published(metrics.Snapshot{Revision: r, Since: time.Now()}) }
		count := func(target string) float64 { return value(t, m, "netloom_event_to_commit_seconds", on(target)) }

		publish(1)
		time.Sleep(time.Hour)
		m.Converged("a", 1, 0) // the start does not count
		require.Zero(t, count("a"))

		publish(2)
		publish(2) // nothing new
		publish(3)
		publish(4)
		time.Sleep(3 * time.Second)
		m.Converged("a", 3, 0)
		m.Converged("a", 3, 0)
		require.InDelta(t, 2, count("a"), 0)
		m.Converged("a", 4, 0)
		require.InDelta(t, 3, count("a"), 0)
		require.Zero(t, count("b"))

		for r := intent.Revision(5); r < 10_000; r++ {
			publish(r)
		}
		m.Converged("a", 9_999, 0)
		require.Greater(t, count("a"), 4000.0)
		sum := 0.0
		families, err := m.Gatherer().Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() == "netloom_event_to_commit_seconds" {
				sum = f.GetMetric()[0].GetHistogram().GetSampleSum()
			}
		}
		require.InDelta(t, 9, sum, 0.001, "three revisions waited three seconds, the others not at all")
	})
}

func TestHandlerServesText(t *testing.T) {
	m := metrics.New()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "netloom_build_info{")
	require.Contains(t, w.Body.String(), "go_goroutines")
}

func TestMetricsFollowTheNamingRules(t *testing.T) {
	m := metrics.New()
	m.Target("ovn")
	m.Event("Pod")
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	faults, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, faults)
}
