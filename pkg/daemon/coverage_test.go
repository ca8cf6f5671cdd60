package daemon_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/web"
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
	require.NotContains(t, body, "none_", "the page is public, and names no open pod")
	_, body = r.get("/debug/ready")
	require.Regexp(t, `(?m)^degraded: ovn: \d+ of \d+ selected pods (is|are) NOT protected: .*no logical port none_`, body)
	require.Regexp(t, `(?m)^degraded: ovn: pods are not found by none_\{namespace\}_\{pod\}: `, body)
	require.Positive(t, r.metric("netloom_selected_endpoints"))
	require.Zero(t, r.metric("netloom_enforced_endpoints"))
	targets := uiOf[struct{ Targets []web.Target }](t, r, "targets").Targets
	require.Positive(t, targets[0].Coverage.Selected)
	require.Zero(t, targets[0].Coverage.Enforced)
	require.Contains(t, targets[0].Coverage.Faults[0], "NOT protected")
}
