package daemon_test

import (
	"net/http"
	"testing"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/metrics"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/webui"
)

// TestReadinessCountsPodsThatAreNotProtected looks for logical ports by names that the database does not have.
func TestReadinessCountsPodsThatAreNotProtected(t *testing.T) {
	p := newPlace(t)
	opts := p.withUI()
	opts.Target.OVN.PortNames = "none_{namespace}_{pod}"
	r := startReady(t, opts)
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusOK, code)
	require.Regexp(t, `(?m)^degraded: ovn: \d+ of \d+ selected pods (is|are) NOT protected$`, body)
	require.NotContains(t, body, "none_", "anybody may ask, and learns of no pod that it is open")
	_, body = r.get("/debug/ready")
	require.Regexp(t, `(?m)^degraded: ovn: \d+ of \d+ selected pods (is|are) NOT protected: .*no logical port none_`, body)
	require.Regexp(t, `(?m)^degraded: ovn: pods are not found by none_\{namespace\}_\{pod\}: `, body)
	require.Positive(t, r.metric("netloom_selected_endpoints"))
	require.Zero(t, r.metric("netloom_enforced_endpoints"))
	targets := uiOf[struct{ Targets []webui.Target }](t, r, "targets").Targets
	require.Positive(t, targets[0].Coverage.Selected)
	require.Zero(t, targets[0].Coverage.Enforced)
	require.Contains(t, targets[0].Coverage.Faults[0], "NOT protected")
}

// partial is a backend that is asked for nothing but its coverage.
type partial struct {
	backends.Backend
	coverage backends.Coverage
}

func (p *partial) Coverage() (backends.Coverage, bool) { return p.coverage, true }

// missing are so many pods without a port.
func missing(names ...string) backends.Gaps {
	var gaps []backends.Gap
	for _, name := range names {
		gaps = append(gaps, backends.Gap{Endpoint: object.Key{Namespace: "shop", Name: name}, Lacks: "logical port " + name})
	}
	return backends.Gaps{}.With(gaps, nil)
}

// TestCoverageIsReportedAsItIsWritten holds that a pod counts as protected once its port is in its groups, and as not protected
// at once when the port is gone; and that the log says when that begins and ends.
func TestCoverageIsReportedAsItIsWritten(t *testing.T) {
	log, logged := test.NewNullLogger()
	b := &partial{coverage: backends.Coverage{Selected: 3}}
	o, coverage := daemon.WatchCoverage(metrics.New(), b, log)
	enforced := func() int { c, _ := coverage(); return c.Enforced() }
	lines := func() (out []string) {
		for _, e := range logged.AllEntries() {
			out = append(out, e.Level.String()+": "+e.Message)
		}
		logged.Reset()
		return out
	}
	const lost, found = "warning: pods that policies select are not found in the target", "info: all pods that policies select are found in the target"

	_, known := coverage()
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
