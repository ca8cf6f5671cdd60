package ovn_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// TestAnEndpointCostsTheSameAmongMany changes an endpoint beside few and beside many other services that depend on the
// node, and on few and on many switches.
func TestAnEndpointCostsTheSameAmongMany(t *testing.T) {
	cost := func(services, switches int) uint64 {
		r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
		var ops []libovsdb.Operation
		for i := range switches {
			name := fmt.Sprintf("sw-%d", i)
			ops = append(ops, ovsdb.Insert("Logical_Switch", simulator.UUIDOf("Logical_Switch", name), libovsdb.Row{"name": name}))
		}
		r.transact(t, ops...)
		r.see(t)
		lbs := many(services)
		for _, lb := range lbs {
			lb.Frontends[0].Locality = intent.NodeOfFlow
		}
		snap := balanced(lbs...)
		r.reconcile(t, snap)
		next := *lbs[0]
		next.Frontends = slices.Clone(next.Frontends)
		backendtest.FirstBackends(&next.Frontends[0], 2)
		snap = with(snap, &next)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := r.plan(t, snap)
		runtime.ReadMemStats(&after)
		require.Len(t, p.Ops, 1)
		require.Equal(t, "Chassis_Template_Var", p.Ops[0].Kind)
		require.NoError(t, r.backend.Apply(t.Context(), p))
		r.requireSettled(t, snap)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := cost(2, 2), cost(1000, 300)
	require.Less(t, many, 2*few)
}

// TestVariablesThatStayAreKept has variables of a chassis come and go beside others, down to none and up again.
func TestVariablesThatStayAreKept(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	local := func(name string, i int, backends ...intent.Backend) *intent.LoadBalancer {
		lb := numbered(name, i, 0)
		lb.Frontends[0].Locality, lb.Frontends[0].Backends = intent.NodeOfFlow, intent.NewBackends(backends...)
		return lb
	}
	one, two := backend("10.0.0.1:8080", "n1"), backend("10.0.0.2:8080", "n1")
	variables := func() []string {
		return slices.Sorted(maps.Values(r.pairs(t, "Chassis_Template_Var", "n1", "variables")))
	}
	snap := balanced(local("a", 1, one), local("b", 2, two))
	r.reconcile(t, snap)
	for _, tc := range []struct {
		lb   *intent.LoadBalancer
		want []string
	}{
		{local("a", 1, two), []string{"10.0.0.2:8080", "10.0.0.2:8080"}},
		{local("b", 2), []string{"10.0.0.2:8080"}},
		{local("c", 3, one), []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		{local("c", 3), []string{"10.0.0.2:8080"}},
		{local("a", 1), nil},
		{local("b", 2, one), []string{"10.0.0.1:8080"}},
		{local("b", 2, two), []string{"10.0.0.2:8080"}},
	} {
		snap = with(snap, tc.lb)
		require.False(t, r.reconcile(t, snap).Full)
		require.Equal(t, tc.want, variables())
		require.Equal(t, tc.want == nil, r.pairs(t, "Chassis_Template_Var", "n1", "variables") == nil, "no row stays empty")
	}
	r.requireSettled(t, snap)
}
