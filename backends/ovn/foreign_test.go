package ovn_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// TestVIPsOfOthersAreTheirs leaves a VIP to another controller for as long as that controller has it.
func TestVIPsOfOthersAreTheirs(t *testing.T) {
	for _, tc := range []struct {
		name, vip, protocol string
		want                bool // it is ours as well
	}{
		{"the same", "10.96.0.1:80", "tcp", false},
		{"the same, without a protocol", "10.96.0.1:80", "", false},
		{"another protocol", "10.96.0.1:80", "udp", true},
		{"another port", "10.96.0.1:81", "tcp", true},
		{"a variable of another value", "^other:80", "tcp", true},
		{"a variable of that value on some chassis", "^vip:80", "tcp", false},
		{"a variable for the port too", "^vip:^port", "tcp", false},
		{"an undefined variable", "^what:80", "tcp", true},
		{"something unreadable", "10.96.0.1", "tcp", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
			theirs := libovsdb.Row{"name": "theirs", "vips": ovsdb.Map(map[string]string{tc.vip: "192.0.2.9:80"})}
			if tc.protocol != "" {
				theirs["protocol"] = tc.protocol
			}
			uuid := simulator.UUIDOf("Load_Balancer", "theirs")
			r.transact(t, ovsdb.Insert("Load_Balancer", uuid, theirs))
			for i, vip := range []string{"10.96.0.2", "10.96.0.1"} {
				chassis := fmt.Sprintf("c%d", i)
				r.transact(t, ovsdb.Insert("Chassis_Template_Var", simulator.UUIDOf("Chassis_Template_Var", chassis), libovsdb.Row{
					"chassis": chassis, "variables": ovsdb.Map(map[string]string{"vip": vip, "port": "80", "other": "10.96.0.3"}),
				}))
			}
			web := web(intent.ClusterAddress, func(f *intent.Frontend) { backendtest.FirstBackends(f, 1) })
			snap := balanced(web)
			p := r.reconcile(t, snap)
			row := r.pairs(t, "Load_Balancer", "shop/web:tcp:cluster", "vips")
			if tc.want {
				require.Equal(t, map[string]string{"10.96.0.1:80": "10.0.0.1:8080"}, row)
				return
			}
			require.Nil(t, row)
			require.Equal(t, []backends.Skip{{
				Intent: "Service/shop/web", Reason: `tcp/10.96.0.1:80: another owner's load balancer "theirs" has this VIP`,
			}}, p.Skips)
			r.transact(t, ovsdb.Delete("Load_Balancer", uuid))
			r.reached = 0
			p = r.reconcile(t, snap)
			require.Empty(t, p.Skips)
			require.NotNil(t, r.pairs(t, "Load_Balancer", "shop/web:tcp:cluster", "vips"))
		})
	}
}

// TestAVIPIsYielded has another controller take a VIP that was ours.
func TestAVIPIsYielded(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	snap := balanced(web(intent.ClusterAddress, nil))
	r.reconcile(t, snap)
	r.transact(t, ovsdb.Insert("Load_Balancer", simulator.UUIDOf("Load_Balancer", "theirs"), libovsdb.Row{
		"name": "theirs", "vips": ovsdb.Map(map[string]string{"10.96.0.1:80": ""}),
	}))
	r.reached = 0
	p := r.reconcile(t, snap)
	require.Len(t, p.Skips, 1)
	require.Nil(t, r.pairs(t, "Load_Balancer", "shop/web:tcp:cluster", "vips"))
	require.NotNil(t, r.pairs(t, "Load_Balancer", "theirs", "vips"))
}

// TestOfTwoOwnersTheFirstKeepsAVIP has both write at the same time, and both look again.
func TestOfTwoOwnersTheFirstKeepsAVIP(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	names, err := ovn.ParsePortNames("ovn-kubernetes")
	require.NoError(t, err)
	second, err := ovn.New(r.client, ovn.Options{Owner: "b", Ports: names})
	require.NoError(t, err)
	snap := balanced(web(intent.ClusterAddress, nil))
	ones, err := r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	others, err := second.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.NoError(t, r.backend.Apply(t.Context(), ones))
	require.NoError(t, second.Apply(t.Context(), others))

	p, err := r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.Empty(t, p.Ops, "the first keeps what it has: %s", text(t, p, ""))
	require.Empty(t, p.Skips)
	p, err = second.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.Len(t, p.Skips, 1, "the second yields")
	require.NoError(t, second.Apply(t.Context(), p))
	require.Equal(t, 1, r.attached(t))
}

// TestVIPsOfAnotherOwnerThatAreVariables has another owner have an address of IPv6 that depends on the node.
func TestVIPsOfAnotherOwnerThatAreVariables(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	names, err := ovn.ParsePortNames("ovn-kubernetes")
	require.NoError(t, err)
	snap := balanced(web(intent.ClusterAddress, func(f *intent.Frontend) {
		f.Addr, f.Backends, f.Locality = netip.MustParseAddr("fd96::1"), intent.NewBackends(backend("[fd00::1]:80", "n1")), intent.NodeOfFlow
	}))
	r.reconcile(t, snap)
	for _, owner := range []string{"0", "b"} {
		other, err := ovn.New(r.client, ovn.Options{Owner: owner, Ports: names})
		require.NoError(t, err)
		p, err := other.Plan(t.Context(), snap, 0)
		require.NoError(t, err)
		require.Empty(t, p.Ops)
		require.Len(t, p.Skips, 1)
	}
	r.requireSettled(t, snap)
}

// TestLoadBalancersWithoutTheirMarkAreAdopted takes the mark off a row: its VIP is then ours still, not another's.
func TestLoadBalancersWithoutTheirMarkAreAdopted(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	snap := balanced(web(intent.ClusterAddress, nil))
	r.reconcile(t, snap)
	before := r.server.Dump("Load_Balancer")
	rows, err := r.client.Select(t.Context(), "Load_Balancer", nil, "_uuid")
	require.NoError(t, err)
	r.transact(t, ovsdb.Update("Load_Balancer", ovsdb.String(rows[0]["_uuid"]), libovsdb.Row{
		"external_ids": ovsdb.Map(nil), "vips": ovsdb.Map(map[string]string{"10.96.0.1:80": "192.0.2.1:1"}),
	}))
	r.reached = 0
	p := r.reconcile(t, snap)
	require.Empty(t, p.Skips)
	require.Len(t, p.Ops, 2, text(t, p, ""))
	require.Equal(t, before, r.server.Dump("Load_Balancer"))
}

// TestAGroupOfAnotherIsLeftAlone has another controller own a group of the name that ours would have.
func TestAGroupOfAnotherIsLeftAlone(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{Group: "lbs"})
	r.transact(t, ovsdb.Insert("Load_Balancer_Group", simulator.UUIDOf("Load_Balancer_Group", "lbs"), libovsdb.Row{"name": "lbs"}))
	snap := balanced(web(intent.ClusterAddress, nil))
	r.reconcile(t, snap)
	require.Contains(t, r.server.Dump("Load_Balancer_Group"), "Load_Balancer_Group lbs\nLoad_Balancer_Group lbs_")
	require.Equal(t, 1, r.attached(t))
	r.requireSettled(t, snap)
	snap = with(snap, numbered("s", 9, 1))
	require.False(t, r.reconcile(t, snap).Full)
	require.Equal(t, 2, r.attached(t))
	r.reached = 0
	r.reconcile(t, intent.NewSnapshot())
	require.Equal(t, "Load_Balancer_Group lbs\n", r.server.Dump("Load_Balancer_Group"))
}

// TestTemplateVariablesShareTheirRow has other controllers use variables of the same chassis: in a row of their own, and in
// one of ours.
func TestTemplateVariablesShareTheirRow(t *testing.T) {
	theirs := map[string]string{"theirs": "1.2.3.4:5"}
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	r.transact(t, ovsdb.Insert("Chassis_Template_Var", simulator.UUIDOf("Chassis_Template_Var", "n1"), libovsdb.Row{
		"chassis": "n1", "variables": ovsdb.Map(theirs),
	}))
	local := web(intent.ClusterAddress, func(f *intent.Frontend) { f.Locality = intent.NodeOfFlow })
	snap := balanced(local)
	r.reconcile(t, snap)
	require.Len(t, r.pairs(t, "Chassis_Template_Var", "n1", "variables"), 2)
	require.Empty(t, r.pairs(t, "Chassis_Template_Var", "n1", "external_ids"), "it stays theirs")
	require.Len(t, r.pairs(t, "Chassis_Template_Var", "c2", "variables"), 1)

	rows, err := r.client.Select(t.Context(), "Chassis_Template_Var", nil, "_uuid", "chassis")
	require.NoError(t, err)
	for _, row := range rows {
		if ovsdb.String(row["chassis"]) == "c2" {
			r.transact(t, ovsdb.MutateMap("Chassis_Template_Var", ovsdb.String(row["_uuid"]), "variables", theirs, nil))
		}
	}
	r.requireSettled(t, snap)
	b := snap.Next()
	b.DropLoadBalancer(local.ID)
	gone := b.Commit()
	p := r.reconcile(t, gone)
	require.False(t, p.Full)
	for _, chassis := range []string{"n1", "c2"} {
		require.Equal(t, theirs, r.pairs(t, "Chassis_Template_Var", chassis, "variables"))
		require.Empty(t, r.pairs(t, "Chassis_Template_Var", chassis, "external_ids"))
	}
	r.requireSettled(t, gone)
	snap = with(gone, local)
	require.False(t, r.reconcile(t, snap).Full, "it comes back")
	require.Len(t, r.pairs(t, "Chassis_Template_Var", "c2", "variables"), 2)
	r.requireSettled(t, snap)
}

// TestOwnersShareARowOfVariables has two owners serve different Services by node, and one of them leave.
func TestOwnersShareARowOfVariables(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	names, err := ovn.ParsePortNames("ovn-kubernetes")
	require.NoError(t, err)
	other, err := ovn.New(r.client, ovn.Options{Owner: "b", Ports: names})
	require.NoError(t, err)
	local := func(addr string) *intent.Snapshot {
		return balanced(web(intent.ClusterAddress, func(f *intent.Frontend) {
			f.Addr, f.Locality = netip.MustParseAddr(addr), intent.NodeOfFlow
		}))
	}
	ours, theirs := local("10.96.0.1"), local("10.96.0.2")
	r.reconcile(t, ours)
	p, err := other.Plan(t.Context(), theirs, 0)
	require.NoError(t, err)
	require.NoError(t, other.Apply(t.Context(), p))
	require.Len(t, r.pairs(t, "Chassis_Template_Var", "n1", "variables"), 2)
	r.requireSettled(t, ours)
	r.reached = 0
	r.reconcile(t, intent.NewSnapshot())
	require.Len(t, r.pairs(t, "Chassis_Template_Var", "n1", "variables"), 1)
	p, err = other.Plan(t.Context(), theirs, 0)
	require.NoError(t, err)
	require.Empty(t, p.Ops, text(t, p, ""))
}

// TestARowOfVariablesThatOthersMade has another controller make the row of a chassis before we need it.
func TestARowOfVariablesThatOthersMade(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	snap := balanced(numbered("s", 1, 1))
	r.reconcile(t, snap)
	r.transact(t, ovsdb.Insert("Chassis_Template_Var", simulator.UUIDOf("Chassis_Template_Var", "n1"), libovsdb.Row{"chassis": "n1"}))
	snap = with(snap, web(intent.ClusterAddress, func(f *intent.Frontend) { f.Locality = intent.NodeOfFlow }))
	require.False(t, r.reconcile(t, snap).Full)
	require.Len(t, r.pairs(t, "Chassis_Template_Var", "n1", "variables"), 1)
	require.Empty(t, r.pairs(t, "Chassis_Template_Var", "n1", "external_ids"))
	r.requireSettled(t, snap)
}

// TestSourceRangesAreEnforcedAtEveryEntry looks where the ACLs of source ranges are: on switches that load balance and on
// those through which packets reach routers that do.
func TestSourceRangesAreEnforcedAtEveryEntry(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{Switches: "pods*", Routers: "gw"})
	barred := web(intent.IngressAddress, func(f *intent.Frontend) {
		f.Denied = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("10.2.0.1/32")}
	})
	snap := balanced(barred)
	p := r.reconcile(t, snap)
	require.Empty(t, p.Skips)
	require.Empty(t, r.server.Dump("ACL"), "there is no switch for it")
	r.requireSettled(t, snap)

	r.addSwitch(t, "pods")
	p = r.reconcile(t, snap)
	require.False(t, p.Full)
	require.Contains(t, text(t, p, ""), "match: ip4.dst == 10.96.0.1 && tcp.dst == 80 && ip4.src == {10.1.0.0/16, 10.2.0.1}\n")

	r.addRouter(t, "gw")
	p = r.reconcile(t, snap)
	require.False(t, p.Full)
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "its source ranges cannot be enforced")
	require.Nil(t, r.pairs(t, "Load_Balancer", "shop/web:tcp:external", "vips"), "no source rather than every source")
	r.reached = 0
	require.Empty(t, r.reconcile(t, snap).Ops)

	r.addSwitch(t, "outside", "gw")
	p = r.reconcile(t, snap)
	require.False(t, p.Full)
	require.Empty(t, p.Skips)
	require.Contains(t, r.server.Dump("Logical_Switch"), "shop/web source ranges")
	require.NotNil(t, r.pairs(t, "Load_Balancer", "shop/web:tcp:external", "vips"))
	r.requireSettled(t, snap)

	r.others = true // deleting a switch deletes its ACLs
	r.deleteSwitch(t, "pods")
	r.deleteSwitch(t, "outside", "gw")
	r.addSwitch(t, "pods2", "gw")
	p = r.reconcile(t, snap)
	require.False(t, p.Full, "the rows that went with their switches are recreated")
	r.requireSettled(t, snap)
	r.reached = 0
	r.reconcile(t, intent.NewSnapshot())
	require.NotContains(t, r.server.Dump("Logical_Switch", "Logical_Router"), "load_balancer")
	require.NotContains(t, r.server.Dump("Logical_Switch"), "acls")
}

// TestAConnectionThatIsNotReported connects a port to a router whose options change later: options of ports are not
// watched. The next read-back finds the connection.
func TestAConnectionThatIsNotReported(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{Switches: "sw0", Routers: "gw"})
	r.addRouter(t, "gw")
	r.addSwitch(t, "pods", "gw")
	r.addSwitch(t, "outside", "gw")
	port := simulator.UUIDOf("Logical_Switch_Port", "outside-gw")
	options := func(of map[string]string) {
		r.transact(t, ovsdb.Update("Logical_Switch_Port", port, libovsdb.Row{"options": ovsdb.Map(of)}))
	}
	options(nil)
	snap := balanced(web(intent.IngressAddress, func(f *intent.Frontend) {
		f.Denied = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	}))
	r.reconcile(t, snap)
	doors := func() int { return strings.Count(r.server.Dump("Logical_Switch"), "shop/web source ranges") }
	require.Equal(t, 2, doors(), "the switch that load balances, and the one that leads to the router")

	options(map[string]string{"router-port": "outside-gw"})
	r.reached = 0
	require.True(t, r.reconcile(t, snap).Full)
	require.Equal(t, 3, doors())
	r.requireSettled(t, snap)
}
