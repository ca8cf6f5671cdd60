package ovn_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
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

// many is n services of three backends each.
func many(n int) []*intent.LoadBalancer {
	out := make([]*intent.LoadBalancer, n)
	for i := range out {
		out[i] = numbered("s", i, 3)
	}
	return out
}

// numbered is the i-th service of a kind of names: the names differ, the addresses do not.
func numbered(kind string, i, backends int) *intent.LoadBalancer {
	f := intent.Frontend{
		Addr: netip.AddrFrom4([4]byte{10, 96, byte(i >> 8), byte(i)}), Protocol: intent.TCP, Port: 80, Kind: intent.ClusterAddress,
	}
	for j := range backends {
		b := backend(fmt.Sprintf("10.0.0.%d:8080", j+1), "n1")
		f.Backends = f.Backends.With(&b)
	}
	return service(fmt.Sprintf("%s%d", kind, i), f)
}

// TestAnEndpointIsOneKeyOfOneRow changes one backend among many services.
func TestAnEndpointIsOneKeyOfOneRow(t *testing.T) {
	r := newRigOn(t, schema.NB2503(), "ovn-kubernetes", ovn.LoadBalancing{})
	lbs := many(50)
	second := lbs[7].Frontends[0]
	second.Port = 443
	lbs[7].Frontends = append(lbs[7].Frontends, second)
	snap := balanced(lbs...)
	r.reconcile(t, snap)

	next := *lbs[7]
	next.Frontends = slices.Clone(next.Frontends)
	backendtest.FirstBackends(&next.Frontends[1], 2)
	snap = with(snap, &next)
	p := r.plan(t, snap)
	require.False(t, p.Full)
	transactions, err := ovn.Transactions(p)
	require.NoError(t, err)
	require.Len(t, transactions, 1)
	require.Len(t, transactions[0], 1)
	op := transactions[0][0]
	require.Equal(t, "mutate", op.Op)
	require.Equal(t, "Load_Balancer", op.Table)
	require.Len(t, op.Mutations, 2)
	for _, m := range op.Mutations {
		require.Equal(t, "vips", m.Column)
	}
	require.Equal(t, backends.Fields{"vips": map[string]string{"10.96.0.7:443": "10.0.0.1:8080,10.0.0.2:8080,10.0.0.3:8080"}}, p.Ops[0].Before)
	require.Equal(t, backends.Fields{"vips": map[string]string{"10.96.0.7:443": "10.0.0.1:8080,10.0.0.2:8080"}}, p.Ops[0].After)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	r.reached = snap.Revision()
	r.requireSettled(t, snap)
	require.Equal(t, map[string]string{
		"10.96.0.7:80": "10.0.0.1:8080,10.0.0.2:8080,10.0.0.3:8080", "10.96.0.7:443": "10.0.0.1:8080,10.0.0.2:8080",
	}, r.pairs(t, "Load_Balancer", "shop/s7:tcp:cluster", "vips"))
}

func TestWhatBackendsAreWrittenAs(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   func(*intent.Frontend)
		accepts  bool // drops where it could refuse
		want     string
		wantRow  string
		wantSkip string
	}{
		{name: "some", want: "10.0.0.1:8080,10.0.0.2:8080"},
		{name: "none is refused", change: func(f *intent.Frontend) { f.Backends = intent.Backends{} }},
		{
			name: "none is dropped where that is wanted", change: func(f *intent.Frontend) { f.Backends = intent.Backends{} }, accepts: true,
			want: "127.0.0.9:9",
		},
		{
			name: "none on the node is dropped", want: "127.0.0.9:9", wantRow: "shop/web:tcp:local",
			change: func(f *intent.Frontend) { f.Kind, f.Node, f.Locality = intent.NodePort, "n3", intent.NodeOfFrontend },
		},
		{
			name: "the unspecified address never", want: "10.0.0.2:8080",
			change:   func(f *intent.Frontend) { readdress(f, netip.IPv4Unspecified()) },
			wantSkip: "tcp/10.96.0.1:80: backend 0.0.0.0:8080 is left out, no packet can be sent to an unspecified address",
		},
		{
			name: "an address of the other family never, it would void all", want: "10.0.0.2:8080",
			change: func(f *intent.Frontend) { readdress(f, netip.MustParseAddr("fd00::1")) },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
			lb := web(intent.ClusterAddress, tc.change)
			lb.RejectEmpty = !tc.accepts
			var skips []string
			for _, skip := range r.reconcile(t, balanced(lb)).Skips {
				if skip.Intent == string(lb.ID) {
					skips = append(skips, skip.Reason)
				}
			}
			require.Equal(t, tc.wantSkip, strings.Join(skips, "; "))
			if tc.wantRow == "" {
				tc.wantRow = "shop/web:tcp:cluster"
			}
			require.Equal(t, map[string]string{"10.96.0.1:80": tc.want}, r.pairs(t, "Load_Balancer", tc.wantRow, "vips"))
		})
	}
}

// TestSwitchesComeAndGo attaches what appears without a read-back.
func TestSwitchesComeAndGo(t *testing.T) {
	for name, nb := range schemas(t) {
		t.Run(name, func(t *testing.T) {
			r := newRigOn(t, nb, "ovn-kubernetes", ovn.LoadBalancing{Switches: "*,!ext*"})
			snap := balanced(web(intent.ClusterAddress, nil))
			r.reconcile(t, snap)
			r.addSwitch(t, "sw1")
			r.addSwitch(t, "ext1")
			p := r.reconcile(t, snap)
			require.False(t, p.Full)
			require.Len(t, p.Ops, 1, text(t, p, ""))
			require.Equal(t, "Logical_Switch", p.Ops[0].Kind)
			require.Equal(t, "sw1", p.Ops[0].Name)
			r.deleteSwitch(t, "sw1")
			require.Empty(t, r.reconcile(t, snap).Ops)
			require.Empty(t, r.plan(t, snap).Ops)
			r.requireSettled(t, snap)
		})
	}
}

// TestASwitchThatGoesWhileItIsWrittenTo applies a plan to a switch that was deleted meanwhile.
func TestASwitchThatGoesWhileItIsWrittenTo(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	r.addSwitch(t, "sw1")
	snap := balanced(web(intent.ClusterAddress, nil))
	p := r.plan(t, snap)
	r.deleteSwitch(t, "sw1")
	require.ErrorIs(t, r.backend.Apply(t.Context(), p), ovn.ErrDrift)
	r.reconcile(t, snap)
	r.requireSettled(t, snap)
}

// TestReferencesThatWereTakenComeBack harms what switches and groups refer to, and adds references of others.
func TestReferencesThatWereTakenComeBack(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	snap := balanced(web(intent.ClusterAddress, nil))
	r.reconcile(t, snap)
	before := r.server.Dump("Load_Balancer_Group", "Logical_Switch", "Load_Balancer")
	sw := simulator.UUIDOf("Logical_Switch", "sw0")
	groups, err := r.client.Select(t.Context(), "Load_Balancer_Group", nil, "_uuid")
	require.NoError(t, err)
	require.Len(t, groups, 1)
	for _, harm := range []libovsdb.Operation{
		ovsdb.Update("Logical_Switch", sw, libovsdb.Row{"load_balancer_group": ovsdb.UUIDs(nil)}),
		ovsdb.Update("Load_Balancer_Group", ovsdb.String(groups[0]["_uuid"]), libovsdb.Row{"load_balancer": ovsdb.UUIDs(nil)}),
	} {
		r.transact(t, harm)
		require.NotEqual(t, before, r.server.Dump("Load_Balancer_Group", "Logical_Switch", "Load_Balancer"))
		r.reached = 0
		require.Len(t, r.reconcile(t, snap).Ops, 1)
		require.Equal(t, before, r.server.Dump("Load_Balancer_Group", "Logical_Switch", "Load_Balancer"))
	}
	theirs := simulator.UUIDOf("Load_Balancer_Group", "theirs")
	r.transact(t,
		ovsdb.Insert("Load_Balancer_Group", theirs, libovsdb.Row{"name": "theirs"}),
		ovsdb.MutateSet("Logical_Switch", sw, "load_balancer_group", []libovsdb.UUID{{GoUUID: theirs}}, nil))
	r.requireSettled(t, snap)
	r.reached = 0
	r.reconcile(t, intent.NewSnapshot())
	require.Equal(t, "Load_Balancer_Group theirs\nLogical_Switch sw0\n    load_balancer_group: theirs\n",
		r.server.Dump("Load_Balancer_Group", "Logical_Switch", "Load_Balancer"))
}

// TestNodesMatterOnlyToWhatDependsOnThem adds a node beside a service that is the same everywhere and one that is not.
func TestNodesMatterOnlyToWhatDependsOnThem(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	local := web(intent.ClusterAddress, func(f *intent.Frontend) { f.Locality = intent.NodeOfFlow })
	snap := balanced(local, numbered("s", 9, 2))
	r.reconcile(t, snap)
	require.Equal(t, []string{"10.0.0.1:8080"}, slices.Collect(maps.Values(r.pairs(t, "Chassis_Template_Var", "n1", "variables"))))
	require.Equal(t, []string{"10.0.0.2:8080"}, slices.Collect(maps.Values(r.pairs(t, "Chassis_Template_Var", "c2", "variables"))))
	b := snap.Next()
	b.PutNode(&intent.Node{Name: "n3"})
	snap = b.Commit()
	p := r.reconcile(t, snap)
	require.False(t, p.Full)
	require.Len(t, p.Ops, 1, text(t, p, ""))
	require.Equal(t, []string{"127.0.0.9:9"}, slices.Collect(maps.Values(r.pairs(t, "Chassis_Template_Var", "n3", "variables"))))
	b = snap.Next()
	b.DropNode("n3")
	snap = b.Commit()
	r.reconcile(t, snap)
	require.Nil(t, r.pairs(t, "Chassis_Template_Var", "n3", "variables"))
	r.requireSettled(t, snap)
}

// readdress gives the first backend of a frontend another address.
func readdress(f *intent.Frontend, a netip.Addr) {
	backendtest.ChangeBackends(f, func(list []intent.Backend) []intent.Backend {
		list[0].Addr = a
		return list
	})
}

// TestFrontendsOfEqualBackendsShareAVariable has addresses of one port lead to the same pods, and another to others.
func TestFrontendsOfEqualBackendsShareAVariable(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	one := web(intent.ExternalAddress, func(f *intent.Frontend) { f.Locality = intent.NodeOfFlow }).Frontends[0]
	same, other := one, one
	same.Addr, other.Addr = netip.MustParseAddr("10.96.0.2"), netip.MustParseAddr("10.96.0.3")
	backendtest.ChangeBackends(&same, func(list []intent.Backend) []intent.Backend { return list }) // equal, but not the same
	other.Backends = intent.NewBackends(backend("10.0.0.9:8080", "n1"))
	r.reconcile(t, balanced(service("web", one, same, other)))
	vips := r.pairs(t, "Load_Balancer", "shop/web:tcp:external:node:v4", "vips")
	require.Equal(t, vips["10.96.0.1:80"], vips["10.96.0.2:80"])
	require.NotEqual(t, vips["10.96.0.1:80"], vips["10.96.0.3:80"])
	vars := r.pairs(t, "Chassis_Template_Var", "n1", "variables")
	require.Len(t, vars, 2)
	require.Equal(t, "10.0.0.9:8080", vars[vips["10.96.0.3:80"][1:]])
}

// TestPodsReachThemselvesThroughServices checks that the rules of isolation follow the first and the last service.
func TestPodsReachThemselvesThroughServices(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	snap := shop("a").Snapshot()
	r.reconcile(t, snap)
	plain := r.server.Dump("Port_Group")
	snap = with(snap, web(intent.ClusterAddress, nil))
	p := r.reconcile(t, snap)
	require.False(t, p.Full)
	require.Contains(t, text(t, p, ""), "flags.loopback == 1 && ip4.src == 169.254.169.5", "others that claim this source are not let in")
	require.Contains(t, text(t, p, ""), "flags.loopback == 1 && ip6.src == fd69::5")
	r.requireSettled(t, snap)
	b := snap.Next()
	b.DropLoadBalancer("Service/shop/web")
	snap = b.Commit()
	p = r.reconcile(t, snap)
	require.False(t, p.Full)
	require.Equal(t, plain, r.server.Dump("Port_Group"))
	r.requireSettled(t, snap)
}

// TestOwnedRowsAreCounted counts rows of ours alike with and without a read-back, and no references in rows of others.
func TestOwnedRowsAreCounted(t *testing.T) {
	for name, nb := range schemas(t) {
		t.Run(name, func(t *testing.T) {
			r := newRigOn(t, nb, "ovn-kubernetes", ovn.LoadBalancing{})
			local := web(intent.IngressAddress, func(f *intent.Frontend) {
				f.Locality, f.Denied = intent.NodeOfOutsideFlow, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			})
			snap := balanced(append(many(3), local)...)
			r.reconcile(t, snap)
			full, err := r.backend.Plan(t.Context(), snap, 0)
			require.NoError(t, err)
			require.Empty(t, full.Ops)
			snap = with(snap, numbered("s", 2, 1))
			p := r.reconcile(t, snap)
			require.False(t, p.Full)
			require.Equal(t, full.Owned, p.Owned)
			require.Greater(t, p.Owned, 4)

			p, err = r.backend.Plan(t.Context(), intent.NewSnapshot(), 0)
			require.NoError(t, err)
			require.Equal(t, p.Owned, p.Deletes())
		})
	}
}

// TestClientsStayByTimeOrByHash asks for session affinity in the two ways there are.
func TestClientsStayByTimeOrByHash(t *testing.T) {
	for _, tc := range []struct {
		way      string
		locality intent.Locality
		want     string
		skips    int
	}{
		{ovn.AffinityTimeout, intent.Anywhere, "affinity_timeout=65535", 1},
		{ovn.AffinityTimeout, intent.NodeOfFlow, "selection_fields: ip_dst, ip_src", 2},
		{ovn.AffinityHash, intent.Anywhere, "selection_fields: ip_dst, ip_src", 1},
	} {
		t.Run(fmt.Sprint(tc.way, " ", tc.locality), func(t *testing.T) {
			r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{Affinity: tc.way})
			lb := web(intent.ClusterAddress, func(f *intent.Frontend) { f.Locality = tc.locality })
			lb.Affinity = 86400
			snap := balanced(lb)
			require.Len(t, r.reconcile(t, snap).Skips, tc.skips)
			dump := r.server.Dump("Load_Balancer")
			require.Contains(t, dump, tc.want)
			require.False(t, strings.Contains(dump, "affinity_timeout") && strings.Contains(dump, "selection_fields"))
			none := *lb
			none.Affinity = 0
			snap = with(snap, &none)
			require.Empty(t, r.reconcile(t, snap).Skips)
			require.NotContains(t, r.server.Dump("Load_Balancer"), tc.want)
			require.Empty(t, r.plan(t, snap).Ops)
			r.requireSettled(t, snap)
		})
	}
}

// TestADatabaseWithoutLoadBalancers says so, once for each.
func TestADatabaseWithoutLoadBalancers(t *testing.T) {
	r := newRigOn(t, without(t, schema.NB2303(), "Load_Balancer", "Load_Balancer_Group", "Load_Balancer_Health_Check"), "ovn-kubernetes", ovn.LoadBalancing{})
	p := r.plan(t, balanced(web(intent.ClusterAddress, nil)))
	require.Empty(t, p.Ops)
	require.Equal(t, []backends.Skip{{Intent: "Service/shop/web", Reason: "the database has no load balancers"}}, p.Skips)
}

// TestManyServicesChangeTheirRows renames every service of a database: all rows change, in several transactions. Between
// them every VIP stays on the switch, and none is there twice.
func TestManyServicesChangeTheirRows(t *testing.T) {
	const n = 2500
	for name, nb := range map[string][]byte{"groups": schema.NB2303(), "no groups": withoutGroups(t)} {
		t.Run(name, func(t *testing.T) {
			r := newRigOn(t, nb, "ovn-kubernetes", ovn.LoadBalancing{})
			b := intent.NewSnapshot().Next()
			for i := range n {
				b.PutLoadBalancer(numbered("old", i, 2))
			}
			snap := b.Commit()
			r.reconcile(t, snap)
			require.Equal(t, n, r.attached(t))
			b = snap.Next()
			for i := range n {
				b.DropLoadBalancer(intent.LoadBalancerID(fmt.Sprintf("Service/shop/old%d", i)))
				b.PutLoadBalancer(numbered("new", i, 2))
			}
			snap = b.Commit()
			p := r.plan(t, snap)
			transactions, err := ovn.Transactions(p)
			require.NoError(t, err)
			require.Greater(t, len(transactions), 2)
			for _, ops := range transactions {
				r.transact(t, ops...)
				require.Equal(t, n, r.attached(t))
			}
			r.reached = 0
			require.Empty(t, r.reconcile(t, snap).Ops)
		})
	}
}

// attached counts the VIPs on the first switch. None may be there twice.
func (r *rig) attached(t *testing.T) int {
	t.Helper()
	rows, err := r.client.Select(t.Context(), "Logical_Switch", nil, "name", "load_balancer", "load_balancer_group")
	require.NoError(t, err)
	on := map[string]bool{}
	for _, sw := range rows {
		for _, uuid := range ovsdb.Strings(sw["load_balancer"]) {
			on[uuid] = true
		}
		for _, uuid := range ovsdb.Strings(sw["load_balancer_group"]) {
			groups, err := r.client.Select(t.Context(), "Load_Balancer_Group", ovsdb.ByUUID(uuid), "load_balancer")
			require.NoError(t, err)
			for _, lb := range ovsdb.Strings(groups[0]["load_balancer"]) {
				on[lb] = true
			}
		}
	}
	lbs, err := r.client.Select(t.Context(), "Load_Balancer", nil, "_uuid", "vips")
	require.NoError(t, err)
	vips := map[string]bool{}
	for _, lb := range lbs {
		if on[ovsdb.String(lb["_uuid"])] {
			for vip := range ovsdb.StringMap(lb["vips"]) {
				require.False(t, vips[vip], "%s is there twice", vip)
				vips[vip] = true
			}
		}
	}
	return len(vips)
}
