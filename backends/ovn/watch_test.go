package ovn_test

import (
	"fmt"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// tampering is something that another client does to rows of netloom.
type tampering struct {
	name string
	ops  func(t testing.TB, g *guarded) []libovsdb.Operation
}

// everyRow makes an operation for each row of a table that is netloom's.
func everyRow(table string, op func(uuid string) libovsdb.Operation) func(testing.TB, *guarded) []libovsdb.Operation {
	return func(t testing.TB, g *guarded) []libovsdb.Operation {
		t.Helper()
		var ops []libovsdb.Operation
		for _, r := range g.rows(t, table, "external_ids") {
			if ovsdb.StringMap(r["external_ids"])[ovn.KeyOwner] == "a" {
				ops = append(ops, op(ovsdb.String(r["_uuid"])))
			}
		}
		require.NotEmpty(t, ops)
		return ops
	}
}

// emptied takes all references out of a column of every row of a table.
func emptied(table, column string) func(testing.TB, *guarded) []libovsdb.Operation {
	return func(t testing.TB, g *guarded) []libovsdb.Operation {
		t.Helper()
		var ops []libovsdb.Operation
		for _, r := range g.rows(t, table, column) {
			if len(ovsdb.Strings(r[column])) > 0 {
				ops = append(ops, ovsdb.Update(table, ovsdb.String(r["_uuid"]), libovsdb.Row{column: ovsdb.UUIDs(nil)}))
			}
		}
		require.NotEmpty(t, ops)
		return ops
	}
}

func tamperings() []tampering {
	update := func(table string, row libovsdb.Row) func(testing.TB, *guarded) []libovsdb.Operation {
		return everyRow(table, func(uuid string) libovsdb.Operation { return ovsdb.Update(table, uuid, row) })
	}
	remove := func(table string) func(testing.TB, *guarded) []libovsdb.Operation {
		return everyRow(table, func(uuid string) libovsdb.Operation { return ovsdb.Delete(table, uuid) })
	}
	wiped := libovsdb.Row{"external_ids": ovsdb.Map(nil)}
	return []tampering{
		{"every deny made an allow", func(testing.TB, *guarded) []libovsdb.Operation {
			return []libovsdb.Operation{{Op: "update", Table: "ACL", Row: libovsdb.Row{"action": "allow"}, Where: []libovsdb.Condition{
				{Column: "action", Function: libovsdb.ConditionEqual, Value: "drop"},
			}}}
		}},
		{"ports taken out of the groups", emptied("Port_Group", "ports")},
		{"ACLs taken out of the groups", emptied("Port_Group", "acls")},
		{"port groups deleted", remove("Port_Group")},
		{"an address added to the sets", everyRow("Address_Set", func(uuid string) libovsdb.Operation {
			return ovsdb.MutateSet("Address_Set", uuid, "addresses", []string{"192.0.2.1"}, nil)
		})},
		{"address sets emptied", update("Address_Set", libovsdb.Row{"addresses": ovsdb.Set([]string{})})},
		{"marks wiped off ACLs", update("ACL", wiped)},
		{"marks wiped off port groups", update("Port_Group", wiped)},
		{"marks wiped off load balancers", update("Load_Balancer", wiped)},
		{"load balancers deleted", remove("Load_Balancer")},
		{"a VIP led elsewhere", update("Load_Balancer", libovsdb.Row{"vips": ovsdb.Map(map[string]string{"10.96.0.1:80": "192.0.2.1:80"})})},
		{"load balancers taken out of their group", emptied("Load_Balancer_Group", "load_balancer")},
		{"the group taken off the switches", emptied("Logical_Switch", "load_balancer_group")},
		{"a row inserted with netloom's mark", func(testing.TB, *guarded) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Insert("Address_Set", "11111111-2222-4333-8444-555555555555", libovsdb.Row{
				"name": "stray", "external_ids": ovsdb.Map(map[string]string{ovn.KeyOwner: "a"}),
			})}
		}},
	}
}

// testTampering checks that each tampering is repaired by the wake alone: the next check for drift is an hour away.
func testTampering(t *testing.T, endpoint string) {
	t.Helper()
	g := guard(t, endpoint, guardedState())
	before := g.dump(t)
	for i, tc := range tamperings() {
		t.Run(tc.name, func(t *testing.T) {
			g.do(t, tc.ops(t, g)...)
			g.repaired(t, before)
			g.await(t, "the drift counted", func() bool { return g.loop.Status().Drifts > uint64(i) })
		})
	}
	status := g.loop.Status()
	require.Zero(t, status.Failures)
	require.EqualValues(t, 1, status.FullPlans, "only what was changed is read")
}

func TestChangesByOthersAreRepairedAtOnce(t *testing.T) {
	for name, nb := range map[string][]byte{"23.03": schema.NB2303(), "25.03": schema.NB2503()} {
		t.Run(name, func(t *testing.T) { testTampering(t, ovntest.StartServer(t, nb).Addr()) })
	}
}

// testFlips has a loop write a thousand times, while logical ports come and go, and another client writes its own rows.
func testFlips(t *testing.T, endpoint string) {
	t.Helper()
	g := guard(t, endpoint, guardedState())
	stranger := simulator.UUIDOf("Address_Set", "stranger")
	g.do(t, ovsdb.Insert("Address_Set", stranger, libovsdb.Row{
		"name": "stranger", "external_ids": ovsdb.Map(map[string]string{ovn.KeyOwner: "b"}),
	}))
	sw, port := simulator.UUIDOf("Logical_Switch", "sw0"), simulator.UUIDOf("Logical_Switch_Port", "shop.c")
	references := []libovsdb.UUID{{GoUUID: port}}
	states := []*backendtest.State{shop("a", "b", "c"), guardedState(), open(80), shop("b")}
	for i := range 1000 {
		g.want(t, states[i%len(states)])
		switch i % 10 {
		case 3:
			g.do(t, ovsdb.MutateSet("Address_Set", stranger, "addresses", []string{"192.0.2.1"}, nil))
		case 4:
			g.do(t, ovsdb.MutateSet("Logical_Switch", sw, "ports", nil, references))
		case 8:
			g.do(t, ovsdb.Insert("Logical_Switch_Port", port, libovsdb.Row{"name": "shop.c"}),
				ovsdb.MutateSet("Logical_Switch", sw, "ports", references, nil))
		}
	}
	status := g.loop.Status()
	require.EqualValues(t, 1, status.FullPlans, "read-backs")
	require.Greater(t, status.Applies, uint64(1000))
	require.Zero(t, status.Failures)
}

func TestOwnChangesCauseNoReadBack(t *testing.T) {
	testFlips(t, ovntest.StartServer(t, schema.NB2503()).Addr())
}

// TestAChangeByOthersBetweenOwnOnesIsNoticed changes rows of netloom just before it writes the same rows, so that both
// are reported while its transaction is under way.
func TestAChangeByOthersBetweenOwnOnesIsNoticed(t *testing.T) {
	for _, tc := range tamperings() {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "{namespace}.{pod}")
			for _, name := range []string{"shop.a", "shop.b", "shop.c", "shop.w"} {
				r.addPort(t, name, nil)
			}
			g := &guarded{other: r.connect(t, ovn.PortNames{})}
			snap := backendtest.Advance(intent.NewSnapshot(), guardedState())
			r.reconcile(t, snap)
			more := guardedState()
			more.Sets[0].Keys = append(more.Sets[0].Keys, object.Key{Namespace: "shop", Name: "c"})
			next := backendtest.Advance(snap, more)
			p := r.plan(t, next)
			require.False(t, p.Full)
			require.False(t, p.Empty())
			g.do(t, tc.ops(t, g)...)
			if err := r.backend.Apply(t.Context(), p); err != nil {
				require.ErrorIs(t, err, ovn.ErrDrift)
				return
			}
			require.True(t, r.backend.ChangedByOthers())
			require.True(t, r.backend.ChangedByOthers(), "until it is repaired")
			p, err := r.backend.Repair(t.Context())
			require.NoError(t, err)
			require.False(t, p.Resync)
			require.False(t, p.Empty())
			require.True(t, r.backend.ChangedByOthers(), "a plan alone repairs nothing")
			require.NoError(t, r.backend.Apply(t.Context(), p))
			require.False(t, r.backend.ChangedByOthers())
			r.requireSettled(t, next)
		})
	}
}

// TestAnACLThatObservesGoesWhenItWouldDecide sets, in a database without tiers, the option with which OVN drops what no ACL matches, and takes
// it back: nobody waits for the drift interval.
func TestAnACLThatObservesGoesWhenItWouldDecide(t *testing.T) {
	state := guardedState()
	state.Staged = true
	g := guard(t, ovntest.StartServer(t, schema.NB2303()).Addr(), state)
	observing := func() (n int) {
		for _, row := range g.rows(t, "ACL", "priority") {
			if fmt.Sprint(row["priority"]) == "0" {
				n++
			}
		}
		return n
	}
	require.Positive(t, observing())
	all := observing()
	set := func(pairs map[string]string) {
		g.do(t, libovsdb.Operation{
			Op: "update", Table: "NB_Global", Row: libovsdb.Row{"options": ovsdb.Map(pairs)}, Where: []libovsdb.Condition{},
		})
	}
	g.do(t, ovsdb.Insert("NB_Global", simulator.UUIDOf("NB_Global", ""), libovsdb.Row{
		"options": ovsdb.Map(map[string]string{"default_acl_drop": "true", "mac_prefix": "0a:00:00"}),
	}))
	g.await(t, "the ACLs that observe go", func() bool { return observing() == 0 })
	plans := g.loop.Status().FullPlans
	set(map[string]string{"default_acl_drop": "true", "mac_prefix": "0b:00:00"})
	set(map[string]string{"mac_prefix": "0b:00:00"})
	g.await(t, "they come back", func() bool { return observing() == all })
	require.EqualValues(t, 1, g.loop.Status().FullPlans-plans, "other options take no read-back")
}

// TestServersWithoutConditionsAreReadBackAtTheInterval uses a server that cannot monitor only some rows of a table.
func TestServersWithoutConditionsAreReadBackAtTheInterval(t *testing.T) {
	server := ovntest.StartServer(t, schema.NB2303())
	server.WithoutConditions()
	log, hook := test.NewNullLogger()
	names, err := ovn.ParsePortNames("{namespace}.{pod}")
	require.NoError(t, err)
	client := ovntest.Connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}})
	backend, err := ovn.New(client, ovn.Options{Owner: "a", Ports: names, Log: log})
	require.NoError(t, err)
	snap := backendtest.Advance(intent.NewSnapshot(), guardedState())
	for range 2 {
		p, err := backend.Plan(t.Context(), snap, 0)
		require.NoError(t, err)
		require.NoError(t, backend.Apply(t.Context(), p))
	}
	_, err = server.Transact(libovsdb.Operation{
		Op: "update", Table: "ACL", Row: libovsdb.Row{"action": "allow"}, Where: []libovsdb.Condition{
			{Column: "action", Function: libovsdb.ConditionEqual, Value: "drop"},
		},
	})
	require.NoError(t, err)
	_, err = client.Select(t.Context(), "NB_Global", nil)
	require.NoError(t, err)
	require.False(t, backend.ChangedByOthers())
	require.Len(t, hook.AllEntries(), 1)
	require.Contains(t, hook.LastEntry().Message, "drift interval")
}
