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
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/metrics"
)

var metricName = regexp.MustCompile(`\bnetloom_[a-z_]+[a-z]`)

func TestTheManualListsEveryMetric(t *testing.T) {
	m := metrics.New()
	m.Target("ovn")
	m.Event("Pod")
	for rev := intent.Revision(1); rev < 3; rev++ {
		m.Published(metrics.Snapshot{Revision: rev})
		p := &backends.Plan{Revision: rev, Full: true, Ops: []backends.Op{{Verb: backends.Create, Kind: "ACL"}}}
		m.Planned("ovn", p, time.Millisecond)
		m.Applied("ovn", p, time.Millisecond)
		m.Converged("ovn", rev, 1)
	}
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	var have []string
	for _, f := range families {
		if metricName.MatchString(f.GetName()) {
			have = append(have, f.GetName())
		}
	}
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	require.NoError(t, err)
	listed := metricName.FindAllString(string(manual), -1)
	slices.Sort(listed)
	require.Equal(t, have, slices.Compact(listed))
}
