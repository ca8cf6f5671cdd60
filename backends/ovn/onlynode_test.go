package ovn_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// TestBackendsOfTheOnlyNodeNeedNoVariables serves by node in a database of one node, of two and of one again. A changed variable makes
// ovn-northd compute everything anew, so an endpoint of the only node changes one row of Load_Balancer instead (ADR 44).
func TestBackendsOfTheOnlyNodeNeedNoVariables(t *testing.T) {
	for name, text := range map[string][]byte{"23.03": schema.NB2303(), "25.03": schema.NB2503()} {
		t.Run(name, func(t *testing.T) {
			r := newRigOn(t, text, "ovn-kubernetes", ovn.LoadBalancing{Routers: "GR_*"})
			r.addSwitch(t, "n1")
			r.addRouter(t, "GR_n1")
			local := func(backends ...intent.Backend) *intent.LoadBalancer {
				lb := web(intent.ClusterAddress, func(f *intent.Frontend) { f.Locality, f.Backends = intent.NodeOfFlow, intent.NewBackends(backends...) })
				outside := lb.Frontends[0]
				outside.Addr, outside.Kind, outside.Locality = netip.MustParseAddr("198.51.100.7"), intent.IngressAddress, intent.NodeOfOutsideFlow
				return service("web", lb.Frontends[0], outside)
			}
			vips := func(scope string) map[string]string {
				return r.pairs(t, "Load_Balancer", "shop/web:tcp:"+scope, "vips")
			}
			here, there := backend("10.0.0.1:8080", "n1"), backend("10.0.0.2:8080", "n2")

			two := balanced(local(here, there))
			b := two.Next()
			b.DropNode("n2")
			one := b.Commit()
			r.reconcile(t, one)
			require.Equal(t, map[string]string{"10.96.0.1:80": "10.0.0.1:8080"}, vips("cluster"))
			require.Equal(t, map[string]string{"198.51.100.7:80": "10.0.0.1:8080"}, vips("router"))
			require.Equal(t, map[string]string{"198.51.100.7:80": "10.0.0.1:8080,10.0.0.2:8080"}, vips("switch"))
			require.NotContains(t, r.server.Dump("Chassis_Template_Var"), "nlv_")
			alone := r.server.Dump("Load_Balancer")

			one = with(one, local(there)) // the endpoint of the node goes
			p := r.reconcile(t, one)
			require.False(t, p.Full)
			for _, op := range p.Ops {
				require.Equal(t, "Load_Balancer", op.Kind)
			}
			require.Equal(t, map[string]string{"10.96.0.1:80": "127.0.0.9:9"}, vips("cluster"), "what the node has none for is dropped")
			one = with(one, local(here, there))
			r.reconcile(t, one)

			b = one.Next()
			b.PutNode(two.Node("n2"))
			two = b.Commit()
			p = r.reconcile(t, two)
			require.False(t, p.Full)
			require.Equal(t, p.Ops[0].Group, p.Ops[len(p.Ops)-1].Group, "it is one transaction")
			require.Contains(t, r.server.Dump("Chassis_Template_Var"), "nlv_")
			require.Contains(t, r.server.Dump("Load_Balancer"), "shop/web:tcp:cluster:node:v4")

			b = two.Next()
			b.DropNode("n2")
			p = r.reconcile(t, b.Commit())
			require.False(t, p.Full)
			require.Equal(t, p.Ops[0].Group, p.Ops[len(p.Ops)-1].Group, "it is one transaction")
			require.Equal(t, alone, r.server.Dump("Load_Balancer"))
			require.NotContains(t, r.server.Dump("Chassis_Template_Var"), "nlv_")
		})
	}
}

// TestASecondNodeLeavesNoServiceWithoutBackends changes the form of so many load balancers at once that the plan has several transactions.
// After each of them, every Service has the backends of the node: those of before or those of after, and never none or both.
func TestASecondNodeLeavesNoServiceWithoutBackends(t *testing.T) {
	const services = 2100
	r := newRigOn(t, schema.NB2503(), "ovn-kubernetes", ovn.LoadBalancing{})
	r.addSwitch(t, "n1")
	r.addSwitch(t, "n2")
	var all []*intent.LoadBalancer
	for i := range services {
		lb := web(intent.ClusterAddress, func(f *intent.Frontend) {
			f.Addr, f.Locality = netip.AddrFrom4([4]byte{10, 96, byte(i >> 8), byte(i)}), intent.NodeOfFlow
		})
		all = append(all, service(fmt.Sprintf("web%d", i), lb.Frontends...))
	}
	two := balanced(all...)
	b := two.Next()
	b.DropNode("n2")
	snap := b.Commit()
	r.reconcile(t, snap)
	here, there := "10.0.0.1:8080", "10.0.0.2:8080"
	r.requireServed(t, services, here, here)

	step := func(change func(*intent.Builder), before, after string) {
		b := snap.Next()
		change(b)
		snap = b.Commit()
		p := r.plan(t, snap)
		require.False(t, p.Full)
		parts := backendtest.Groups(p)
		require.Greater(t, len(parts), 2, "it is too large for one")
		for _, part := range parts {
			require.NoError(t, r.backend.Apply(t.Context(), part))
			r.requireServed(t, services, here, before, after)
		}
		r.requireServed(t, services, here, after)
		r.requireSettled(t, snap)
		r.reached = 0 // to the backend, a part of a plan is a plan of unknown effect
		require.Empty(t, r.reconcile(t, snap).Ops)
	}
	step(func(b *intent.Builder) { b.PutNode(two.Node("n2")) }, here, there)
	step(func(b *intent.Builder) { b.DropNode("n2") }, there, here)
	step(func(b *intent.Builder) { b.PutNode(two.Node("n2")) }, here, there)
	step(func(b *intent.Builder) { b.DropNode("n2") }, there, here)
}

// requireServed fails the test unless each of n addresses leads, in the group of load balancers of all switches, to one list of backends: on
// chassis n1 to these, and on c2 to one of others.
func (r *rig) requireServed(t testing.TB, n int, on1 string, on2 ...string) {
	t.Helper()
	groups, err := r.client.Select(t.Context(), "Load_Balancer_Group", nil, "load_balancer")
	require.NoError(t, err)
	require.Len(t, groups, 1)
	in := map[string]bool{}
	for _, id := range ovsdb.Strings(groups[0]["load_balancer"]) {
		in[id] = true
	}
	vars := map[string]map[string]string{}
	rows, err := r.client.Select(t.Context(), "Chassis_Template_Var", nil, "chassis", "variables")
	require.NoError(t, err)
	for _, row := range rows {
		vars[ovsdb.String(row["chassis"])] = ovsdb.StringMap(row["variables"])
	}
	rows, err = r.client.Select(t.Context(), "Load_Balancer", nil, "_uuid", "vips")
	require.NoError(t, err)
	served := map[string]int{}
	for _, row := range rows {
		if !in[ovsdb.String(row["_uuid"])] {
			continue
		}
		for vip, backends := range ovsdb.StringMap(row["vips"]) {
			served[vip]++
			at := func(chassis string) string {
				if name, variable := strings.CutPrefix(backends, "^"); variable {
					return vars[chassis][name]
				}
				return backends
			}
			require.Equal(t, on1, at("n1"), vip)
			require.Contains(t, on2, at("c2"), vip)
		}
	}
	require.Len(t, served, n)
	for vip, times := range served {
		require.Equal(t, 1, times, vip)
	}
}
