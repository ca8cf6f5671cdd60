package ovn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
)

// TestNodesWithoutASwitchOrRouterOfTheirOwn serves by node, in a database without template variables, and counts the
// rows that nothing refers to, until each node has a switch or a router.
func TestNodesWithoutASwitchOrRouterOfTheirOwn(t *testing.T) {
	r := newRigOn(t, withoutGroups(t), "ovn-kubernetes", ovn.LoadBalancing{NodeSwitch: "node-{node}", Routers: "GR_*"})
	snap := balanced(
		web(intent.ClusterAddress, func(f *intent.Frontend) { f.Locality = intent.NodeOfFlow }), numbered("everywhere", 9, 2))
	// skips looks from scratch, as at every check for drift, and writes what it finds.
	skips := func() []backends.Skip {
		r.reached = 0
		return r.reconcile(t, snap).Skips
	}
	unreferenced := func(rows string) []backends.Skip {
		return []backends.Skip{{
			Intent: "Service/shop/web",
			Reason: "its backends depend on the node, and " + rows + " rows are for nodes without a switch or router of their own",
		}}
	}
	r.addSwitch(t, "n1") // not what the setting says
	require.Equal(t, unreferenced("2"), skips())
	require.NotContains(t, r.server.Dump("Logical_Switch"), "shop/web:tcp:cluster:node")
	require.Contains(t, r.server.Dump("Load_Balancer"), "shop/web:tcp:cluster:node:n2", "it is written all the same")
	r.addSwitch(t, "node-n1")
	require.Equal(t, unreferenced("1"), skips())
	require.Contains(t, r.server.Dump("Logical_Switch"), "shop/web:tcp:cluster:node:n1")
	r.addRouter(t, "GR_n2")
	require.Empty(t, skips())
	require.Contains(t, r.server.Dump("Logical_Router"), "shop/web:tcp:cluster:node:n2")
	r.deleteSwitch(t, "node-n1")
	require.Equal(t, unreferenced("1"), skips())
	require.Empty(t, r.plan(t, snap).Ops)
}
