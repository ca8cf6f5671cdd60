package ovn_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
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
				lb := web(intent.ClusterAddress, func(f *intent.Frontend) { f.Locality, f.Backends = intent.NodeOfFlow, backends })
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
