package ovn_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/reconcile"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// guarded is a database that a loop keeps in sync, and another client that writes into it.
type guarded struct {
	loop   *reconcile.Loop
	latest atomic.Pointer[intent.Snapshot]
	other  *ovsdb.Client
}

// ownTables are the tables whose rows the tests compare.
var ownTables = []string{
	"ACL", "Address_Set", "Port_Group", "Load_Balancer", "Load_Balancer_Group", "Logical_Switch", "Meter", "Meter_Band",
}

// guard starts a loop that would check for drift once an hour, and waits until the database is in sync.
func guard(t testing.TB, endpoint string, first *backendtest.State) *guarded {
	t.Helper()
	g := &guarded{other: ovntest.Connect(t, ovsdb.Options{Endpoints: []string{endpoint}})}
	g.addSwitch(t, "sw0", "shop.a", "shop.b", "shop.c", "shop.w")
	names, err := ovn.ParsePortNames("{namespace}.{pod}")
	require.NoError(t, err)
	backend, err := ovn.New(ovntest.Connect(t, ovsdb.Options{Endpoints: []string{endpoint}}), ovn.Options{Owner: "a", Ports: names})
	require.NoError(t, err)
	g.latest.Store(backendtest.Advance(intent.NewSnapshot(), first))
	g.loop = reconcile.New(backend, g.latest.Load, reconcile.Options{
		Target: "nb", MaxDeleteFraction: 1, MaxInterval: time.Hour, RetryMin: time.Millisecond, RetryMax: 10 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.loop.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	g.await(t, "the first plan", func() bool { return g.loop.Status().Converged })
	return g
}

func (g *guarded) await(t testing.TB, what string, done func() bool) {
	t.Helper()
	await.True(t, done, "%s", what)
}

// want brings the database to another state.
func (g *guarded) want(t testing.TB, s *backendtest.State) {
	t.Helper()
	next := backendtest.Advance(g.latest.Load(), s)
	g.latest.Store(next)
	g.loop.Wake()
	g.await(t, "the next revision", func() bool { return g.loop.Status().Revision == next.Revision() })
}

// do is what another client does.
func (g *guarded) do(t testing.TB, ops ...libovsdb.Operation) {
	t.Helper()
	_, err := g.other.Transact(t.Context(), ops)
	require.NoError(t, err)
}

func (g *guarded) addSwitch(t testing.TB, name string, ports ...string) {
	t.Helper()
	var uuids []string
	var ops []libovsdb.Operation
	for _, port := range ports {
		uuids = append(uuids, simulator.UUIDOf("Logical_Switch_Port", port))
		ops = append(ops, ovsdb.Insert("Logical_Switch_Port", uuids[len(uuids)-1], libovsdb.Row{"name": port}))
	}
	g.do(t, append(ops, ovsdb.Insert("Logical_Switch", simulator.UUIDOf("Logical_Switch", name),
		libovsdb.Row{"name": name, "ports": ovsdb.UUIDs(uuids)}))...)
}

// rows reads a table.
func (g *guarded) rows(t testing.TB, table string, columns ...string) []libovsdb.Row {
	t.Helper()
	rows, err := g.other.Select(t.Context(), table, nil, columns...)
	require.NoError(t, err)
	return rows
}

// dump formats the content of the tables, in order.
func (g *guarded) dump(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, table := range ownTables {
		for _, r := range g.rows(t, table) {
			delete(r, "_version")
			for column, value := range r {
				if list := ovsdb.Strings(value); len(list) > 1 {
					slices.Sort(list)
					r[column] = list
				}
				if pairs := ovsdb.StringMap(value); len(pairs) > 0 {
					r[column] = pairs
				}
			}
			out = append(out, table+" "+fmt.Sprint(map[string]any(r)))
		}
	}
	slices.Sort(out)
	return out
}

// repaired waits until the database has its former content again.
func (g *guarded) repaired(t testing.TB, before []string) {
	t.Helper()
	g.await(t, "the repair", func() bool { return slices.Equal(before, g.dump(t)) })
}

// guardedState isolates two pods and has a load balancer.
func guardedState() *backendtest.State {
	s := shop("a", "b")
	s.LoadBalancers = []intent.LoadBalancer{*web(intent.ClusterAddress, nil)}
	return s
}
