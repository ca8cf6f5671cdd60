package daemon_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadinessNamesPodsThatAreNotProtected looks for logical ports by names that the database does not have.
func TestReadinessNamesPodsThatAreNotProtected(t *testing.T) {
	p := newPlace(t)
	opts := p.options()
	opts.Target.OVN.PortNames = "none_{namespace}_{pod}"
	r := startReady(t, opts)
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusOK, code)
	require.Regexp(t, `(?m)^degraded: ovn: \d+ of \d+ selected pods (is|are) NOT protected: .*no logical port none_`, body)
	require.Regexp(t, `(?m)^degraded: ovn: pods are not found by none_\{namespace\}_\{pod\}: `, body)
}
