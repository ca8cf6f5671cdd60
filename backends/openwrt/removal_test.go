package openwrt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	device "github.com/netloom/netloom/backends/openwrt"
)

// TestRemoval removes everything that a CNF has of an owner, by a process that knows no cluster: the device is as one that was never written
// to, except for the options that its own module sets when it writes a site.
func TestRemoval(t *testing.T) {
	fresh := newRig(t)
	fresh.reconcile(t)
	r := newRig(t)
	r.fill(t)
	r.reconcile(t)
	require.NotEqual(t, fresh.device.Export(), r.device.Export())
	for range 2 {
		b, err := device.New(r.client, device.Options{Owner: "a", CNF: "10.0.0.1"})
		require.NoError(t, err)
		plan, err := b.PlanRemoval(t.Context())
		require.NoError(t, err)
		require.NoError(t, b.Apply(t.Context(), plan))
		plan, err = b.PlanRemoval(t.Context())
		require.NoError(t, err)
		require.Empty(t, text(t, plan))
	}
	require.Equal(t, fresh.bare(), r.bare())
	r.reached = 0
	r.reconcile(t)
	r.requireSettled(t)
}
