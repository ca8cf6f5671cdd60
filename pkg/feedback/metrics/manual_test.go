package metrics_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

var metricName = regexp.MustCompile(`\bnetloom_[a-z_]+[a-z]`)

func TestTheManualListsEveryMetric(t *testing.T) {
	m := metrics.New()
	m.Target("ovn")
	m.Kept(func() map[string]int { return nil })
	m.OtherClusters(func() []metrics.OtherCluster { return []metrics.OtherCluster{{Name: "b"}} })
	m.Views(func() []metrics.View { return []metrics.View{{Resource: "pods", Renewals: map[string]int{"back": 1}}} })
	m.Event("Pod")
	for rev := intent.Revision(1); rev < 3; rev++ {
		m.Published(metrics.Snapshot{Revision: rev, Unavailable: []string{"Service"}})
		p := &backends.Plan{Revision: rev, Full: true, Ops: []backends.Op{{Verb: backends.Create, Kind: "ACL"}}}
		m.Planned("ovn", p, time.Millisecond)
		m.Applied("ovn", p, time.Millisecond)
		m.Round("ovn", &reconcile.Round{Operations: 1, Changes: 1})
		m.Converged("ovn", rev, 1)
	}
	m.Covered("ovn", backends.Coverage{})
	m.CNFs(nil)
	m.Reported("ovn", true)
	m.Tunnels("ovn", 1, 0, true)
	m.Wrote("ok")
	m.Readiness(func() map[string]int { return map[string]int{"ready": 1} })
	m.WrotePod("ok")
	m.LookedUp("found")
	m.Judged("allowed")
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	var have []string
	for _, f := range families {
		if metricName.MatchString(f.GetName()) {
			have = append(have, f.GetName())
		}
	}
	manual, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operations.md"))
	require.NoError(t, err)
	listed := metricName.FindAllString(string(manual), -1)
	slices.Sort(listed)
	require.Equal(t, have, slices.Compact(listed))
}

func TestForgottenTargetsLeaveNothing(t *testing.T) {
	m := metrics.New()
	for _, target := range []string{"openwrt/a/b", "openwrt/a/c"} {
		m.Target(target)
		p := &backends.Plan{Full: true, Ops: []backends.Op{{Verb: backends.Create, Kind: "zone"}}, Revision: 1}
		m.Planned(target, p, time.Millisecond)
		m.Applied(target, p, time.Millisecond)
		m.Converged(target, 1, 1)
		m.Covered(target, backends.Coverage{Selected: 1})
		m.Reported(target, false)
		m.Tunnels(target, 1, 1, false)
	}
	m.Forget("openwrt/a/b")
	m.NoTunnels("openwrt/a/c")
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	kept := 0
	for _, f := range families {
		for _, one := range f.GetMetric() {
			for _, l := range one.GetLabel() {
				require.NotEqual(t, "openwrt/a/b", l.GetValue(), f.GetName())
				if l.GetValue() == "openwrt/a/c" {
					require.NotContains(t, f.GetName(), "tunnels")
					kept++
				}
			}
		}
	}
	require.Positive(t, kept)
}
