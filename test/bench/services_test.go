package bench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

// TestEndpointBudget limits an endpoint that leaves a Service, and comes back, to one transaction that touches one row,
// with a hundred Services as with ten thousand.
func TestEndpointBudget(t *testing.T) {
	few, many := endpointCost(t, 100), endpointCost(t, 10000)
	t.Logf("an endpoint that leaves and comes back: %+v with 100 Services, %+v with 10,000", few, many)
	require.Equal(t, effort{transactions: 2, rows: 2, bytes: few.bytes}, few)
	require.Equal(t, effort{transactions: 2, rows: 2, bytes: many.bytes}, many)
	require.LessOrEqual(t, float64(many.bytes), 1.5*float64(few.bytes))
}

// effort is what a change costs a database.
type effort struct{ transactions, rows, bytes int }

// endpointCost is what is written for an endpoint that leaves one of many Services and comes back.
func endpointCost(t *testing.T, services int) effort {
	t.Helper()
	cluster := policygen.Services(services)
	server, r := serviceRig(t, cluster)
	require.Equal(t, services, created(r.sync(t))["Load_Balancer"])
	var total effort
	slice := cluster.Slices[17]
	for _, change := range []any{without(slice), slice} {
		require.NoError(t, r.translator.Put(change))
		e, touched := r.effort(t, server)
		require.Equal(t, map[string]int{"Load_Balancer": 1}, touched)
		total.transactions += e.transactions
		total.rows += e.rows
		total.bytes += e.bytes
	}
	return total
}

// serviceRig is a rig with a cluster loaded, and its database.
func serviceRig(t *testing.T, cluster *oracle.Cluster) (*simulator.Server, *rig) {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	r := newRig(t, server.Addr())
	makePorts(t, r.client, cluster)
	r.load(t, cluster)
	return server, r
}

// effort writes what has changed, which is mutations alone, each of another row, and says what that cost and in which
// tables.
func (r *rig) effort(t *testing.T, server *simulator.Server) (e effort, touched map[string]int) {
	t.Helper()
	server.Reset()
	plan := r.sync(t)
	native, err := ovn.Transactions(plan)
	require.NoError(t, err)
	rows := map[string]bool{}
	touched = map[string]int{}
	for _, ops := range native {
		for i := range ops {
			require.Equal(t, "mutate", ops[i].Op)
			rows[fmt.Sprint(ops[i].Table, ops[i].Where)] = true
			touched[ops[i].Table]++
		}
	}
	sent := 0
	for table, verbs := range server.Stats().Ops {
		require.Equal(t, map[string]int{"mutate": touched[table]}, verbs, "%s: what the database got is what was planned", table)
		sent += verbs["mutate"]
	}
	require.Len(t, rows, sent, "a row is written to once")
	return effort{transactions: server.Transactions(), rows: len(rows), bytes: size(t, plan)}, touched
}
