package ovn_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// without is a schema that lacks tables, and the columns that refer to them from switches and routers.
func without(t testing.TB, text []byte, missing ...string) []byte {
	t.Helper()
	var nb struct {
		Name    string                    `json:"name"`
		Version string                    `json:"version"`
		Tables  map[string]map[string]any `json:"tables"`
	}
	require.NoError(t, json.Unmarshal(text, &nb))
	for _, table := range missing {
		delete(nb.Tables, table)
		for _, host := range []string{"Logical_Switch", "Logical_Router"} {
			columns, ok := nb.Tables[host]["columns"].(map[string]any)
			require.True(t, ok)
			delete(columns, strings.ToLower(table))
		}
	}
	out, err := json.Marshal(nb)
	require.NoError(t, err)
	return out
}

// withoutGroups is an older schema: it has neither groups of load balancers nor template variables.
func withoutGroups(t testing.TB) []byte {
	return without(t, schema.NB2303(), "Load_Balancer_Group", "Chassis_Template_Var")
}

// schemas are those that load balancers are tested with.
func schemas(t testing.TB) map[string][]byte {
	return map[string][]byte{"23.03": schema.NB2303(), "25.03": schema.NB2503(), "without groups": withoutGroups(t)}
}

func (r *rig) transact(t testing.TB, ops ...libovsdb.Operation) {
	t.Helper()
	_, err := r.server.Transact(ops...)
	require.NoError(t, err)
}

// addSwitch adds a logical switch, and lets routers connect to it.
func (r *rig) addSwitch(t testing.TB, name string, routers ...string) {
	t.Helper()
	require.NoError(t, r.server.AddSwitch(name))
	for _, router := range routers {
		link := name + "-" + router
		lrp, lsp := simulator.UUIDOf("Logical_Router_Port", link), simulator.UUIDOf("Logical_Switch_Port", link)
		r.transact(t,
			ovsdb.Insert("Logical_Router_Port", lrp, libovsdb.Row{"name": link, "mac": "00:00:00:00:00:01"}),
			ovsdb.MutateSet("Logical_Router", simulator.UUIDOf("Logical_Router", router), "ports", []libovsdb.UUID{{GoUUID: lrp}}, nil),
			ovsdb.Insert("Logical_Switch_Port", lsp, libovsdb.Row{
				"name": "to-" + link, "type": "router", "options": ovsdb.Map(map[string]string{"router-port": link}),
			}),
			ovsdb.MutateSet("Logical_Switch", simulator.UUIDOf("Logical_Switch", name), "ports", []libovsdb.UUID{{GoUUID: lsp}}, nil),
		)
	}
	r.see(t)
}

// deleteSwitch removes a logical switch and its connections to routers.
func (r *rig) deleteSwitch(t testing.TB, name string, routers ...string) {
	t.Helper()
	for _, router := range routers {
		lrp := simulator.UUIDOf("Logical_Router_Port", name+"-"+router)
		r.transact(t, ovsdb.MutateSet("Logical_Router", simulator.UUIDOf("Logical_Router", router), "ports", nil, []libovsdb.UUID{{GoUUID: lrp}}))
	}
	r.transact(t, ovsdb.Delete("Logical_Switch", simulator.UUIDOf("Logical_Switch", name)))
	r.see(t)
}

func (r *rig) addRouter(t testing.TB, name string) {
	t.Helper()
	r.transact(t, ovsdb.Insert("Logical_Router", simulator.UUIDOf("Logical_Router", name), libovsdb.Row{"name": name}))
	r.see(t)
}

// see waits until the client knows of every switch and router, by a change that comes after all others.
func (r *rig) see(t testing.TB) {
	t.Helper()
	mark := simulator.UUIDOf("Logical_Switch", "mark")
	known := func() bool {
		return slices.ContainsFunc(r.client.Switches(), func(d ovsdb.Datapath) bool { return d.UUID == mark })
	}
	r.transact(t, ovsdb.Insert("Logical_Switch", mark, libovsdb.Row{"name": "mark"}))
	await.True(t, known, "the client knows the mark")
	r.transact(t, ovsdb.Delete("Logical_Switch", mark))
	await.True(t, func() bool { return !known() }, "the client knows that the mark is gone")
}

// web is a Service with one frontend of a kind and backends on two nodes.
func web(kind intent.FrontendKind, change func(*intent.Frontend)) *intent.LoadBalancer {
	f := intent.Frontend{
		Addr: netip.MustParseAddr("10.96.0.1"), Protocol: intent.TCP, Port: 80, Kind: kind, Path: "spec.ports[0]",
		Backends: intent.NewBackends(backend("10.0.0.1:8080", "n1"), backend("10.0.0.2:8080", "n2")),
	}
	if change != nil {
		change(&f)
	}
	return service("web", f)
}

func service(name string, frontends ...intent.Frontend) *intent.LoadBalancer {
	slices.SortFunc(frontends, func(a, b intent.Frontend) int { return a.Compare(&b) })
	o := intent.Origin{Kind: "Service", Namespace: "shop", Name: name, UID: "u-" + name}
	return &intent.LoadBalancer{
		ID: intent.LoadBalancerID(o.String()), Origin: o, RejectEmpty: true, Frontends: frontends,
	}
}

func backend(at, node string) intent.Backend {
	a := netip.MustParseAddrPort(at)
	return intent.Backend{Addr: a.Addr(), Port: a.Port(), Node: node}
}

// balanced is a snapshot with two nodes and load balancers.
func balanced(lbs ...*intent.LoadBalancer) *intent.Snapshot {
	b := intent.NewSnapshot().Next()
	b.PutNode(&intent.Node{Name: "n1", Zone: "east", Addrs: []netip.Addr{netip.MustParseAddr("172.18.0.1")}})
	b.PutNode(&intent.Node{Name: "n2", Zone: "west", SystemID: "c2", Addrs: []netip.Addr{netip.MustParseAddr("172.18.0.2")}})
	for _, lb := range lbs {
		b.PutLoadBalancer(lb)
	}
	return b.Commit()
}

// with is the successor of a snapshot with load balancers put.
func with(s *intent.Snapshot, lbs ...*intent.LoadBalancer) *intent.Snapshot {
	b := s.Next()
	for _, lb := range lbs {
		b.PutLoadBalancer(lb)
	}
	return b.Commit()
}

// pairs reads a map column of the only row of a table with a name.
func (r *rig) pairs(t testing.TB, table, name, column string) map[string]string {
	t.Helper()
	key := "name"
	if table == "Chassis_Template_Var" {
		key = "chassis"
	}
	rows, err := r.client.Select(t.Context(), table, nil, "_uuid", key, column)
	require.NoError(t, err)
	var found map[string]string
	for _, row := range rows {
		if ovsdb.String(row[key]) == name {
			require.Nil(t, found)
			found = ovsdb.StringMap(row[column])
		}
	}
	return found
}
