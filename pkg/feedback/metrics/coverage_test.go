package metrics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/object"
)

// TestPodsThatAreNotProtectedAreCounted checks that a standby, which knows nothing of a target, counts none of them.
func TestPodsThatAreNotProtectedAreCounted(t *testing.T) {
	m := metrics.New()
	read := func() []float64 {
		return []float64{
			value(t, m, "netloom_selected_endpoints", on("ovn")), value(t, m, "netloom_enforced_endpoints", on("ovn")),
			value(t, m, "netloom_kept_ports", on("ovn")),
		}
	}
	missing := backends.Gaps{}.With([]backends.Gap{{Endpoint: object.Key{Namespace: "shop", Name: "web-0"}}}, nil)
	m.Target("ovn")
	m.Covered("ovn", backends.Coverage{Selected: 500, Missing: missing, Kept: 3, Held: 4})
	require.Equal(t, []float64{500, 499, 7}, read())
	m.Rest("ovn")
	require.Equal(t, []float64{0, 0, 0}, read())
}
