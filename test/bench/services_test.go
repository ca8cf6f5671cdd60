package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/policygen"
)

// TestEndpointBudget holds an endpoint that leaves a Service, and comes back, to one transaction that touches one row,
// with a hundred Services as with ten thousand.
func TestEndpointBudget(t *testing.T) {
	few, many := endpointBytes(t, 100), endpointBytes(t, 10000)
	t.Logf("bytes of an endpoint that leaves and comes back: %d with 100 Services, %d with 10,000", few, many)
	require.LessOrEqual(t, float64(many), 1.5*float64(few))
}

// endpointBytes is how many bytes are written for an endpoint that leaves one of so many Services and comes back.
func endpointBytes(t *testing.T, services int) int {
	t.Helper()
	server, err := ovsdbtest.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	cluster := policygen.Services(services)
	r := newRig(t, server.Addr())
	makePorts(t, r.client, cluster)
	r.load(t, cluster)
	require.Equal(t, services, created(r.sync(t))["Load_Balancer"])
	bytes := 0
	slice := cluster.Slices[17]
	for _, change := range []any{without(slice), slice} {
		server.Reset()
		require.NoError(t, r.translator.Put(change))
		plan := r.sync(t)
		require.Equal(t, 1, server.Transactions())
		require.Len(t, plan.Ops, 1)
		require.Equal(t, backends.Mutate, plan.Ops[0].Verb)
		require.Equal(t, "Load_Balancer", plan.Ops[0].Kind)
		native, err := ovn.Transactions(plan)
		require.NoError(t, err)
		require.Len(t, native[0], 1, "operations of the transaction")
		bytes += size(t, plan)
	}
	return bytes
}
