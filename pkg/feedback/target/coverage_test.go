package target_test

import (
	"errors"
	"testing"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/target"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/reconcile"
)

// partial is a backend of which only the coverage is used.
type partial struct {
	backends.Backend
	coverage backends.Coverage
}

func (p *partial) Coverage() (backends.Coverage, bool) { return p.coverage, true }

// missing returns pods without a port.
func missing(names ...string) backends.Gaps {
	var gaps []backends.Gap
	for _, name := range names {
		gaps = append(gaps, backends.Gap{Endpoint: object.Key{Namespace: "shop", Name: name}, Lacks: "logical port " + name})
	}
	return backends.Gaps{}.With(gaps, nil)
}

// TestCoverageIsReportedAsItIsWritten checks that a pod counts as protected once its port is in its groups, and as not
// protected at once when the port is gone; and that the log says when that begins and ends.
func TestCoverageIsReportedAsItIsWritten(t *testing.T) {
	log, logged := test.NewNullLogger()
	b := &partial{coverage: backends.Coverage{Selected: 3}}
	o := target.NewCoverage(metrics.New(), log)
	o.Add("ovn", b)
	enforced := func() int { c, _ := o.Of("ovn"); return c.Enforced() }
	lines := func() (out []string) {
		for _, e := range logged.AllEntries() {
			out = append(out, e.Level.String()+": "+e.Message)
		}
		logged.Reset()
		return out
	}
	const lost, found = "warning: pods that policies select are not protected by the target", "info: all pods that policies select are protected by the target"

	_, known := o.Of("ovn")
	require.False(t, known, "before the first plan")
	o.Planned("ovn", &backends.Plan{}, 0)
	o.Converged("ovn", 1, 0)
	require.Equal(t, 3, enforced())
	require.Empty(t, lines())

	b.coverage.Missing = missing("web-0")
	o.Planned("ovn", &backends.Plan{}, 0)
	require.Equal(t, 2, enforced(), "a port is gone")
	require.Equal(t, []string{lost}, lines())
	b.coverage.Missing = missing("web-0", "web-1")
	o.Planned("ovn", &backends.Plan{}, 0)
	require.Empty(t, lines(), "not for each")
	b.coverage.Missing = missing("web-0", "web-1", "web-2")
	o.Planned("ovn", &backends.Plan{}, 0)
	require.Equal(t, []string{lost}, lines(), "many more")

	b.coverage.Missing = backends.Gaps{}
	o.Planned("ovn", &backends.Plan{}, 0)
	require.Equal(t, 0, enforced(), "the ports are not in their groups yet")
	require.Empty(t, lines())
	o.Converged("ovn", 2, 0)
	require.Equal(t, 3, enforced())
	require.Equal(t, []string{found}, lines())
	o.Planned("other", &backends.Plan{}, 0)
}

// TestCoverageIsOfWhatIsWritten checks that nothing counts as protected while the first write fails, nor while others contest the
// target.
func TestCoverageIsOfWhatIsWritten(t *testing.T) {
	log, _ := test.NewNullLogger()
	b := &partial{coverage: backends.Coverage{Selected: 2, Missing: missing("web-0", "web-1")}}
	o := target.NewCoverage(metrics.New(), log)
	o.Add("ovn", b)
	o.Planned("ovn", &backends.Plan{}, 0)
	_, known := o.Of("ovn")
	require.False(t, known, "the first write follows")
	enforced := func() int { c, _ := o.Of("ovn"); return c.Enforced() }
	o.Failed("ovn", reconcile.PhaseApply, errors.New("refused"))
	_, known = o.Of("ovn")
	require.True(t, known)
	require.Zero(t, enforced())
	b.coverage.Missing = backends.Gaps{}
	o.Failed("ovn", reconcile.PhaseApply, errors.New("refused"))
	require.Zero(t, enforced(), "a plan writes nothing")
	o.Converged("ovn", 1, 0)
	require.Equal(t, 2, enforced())

	opened := &backends.Foreign{Opened: func() backends.Gaps { return missing("web-1") }}
	o.Disturbed("ovn", &reconcile.Disturbance{Changed: opened})
	require.Equal(t, 2, enforced(), "it is about to be repaired")
	o.Disturbed("ovn", &reconcile.Disturbance{Changed: opened, Contested: true})
	require.Equal(t, 1, enforced())
	o.Converged("ovn", 2, 0)
	require.Equal(t, 1, enforced(), "the contest goes on")
	o.Disturbed("ovn", nil)
	require.Equal(t, 2, enforced())
}
