package ovn_test

import (
	"encoding/json"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

const (
	aclID   = "aaaaaaaa-0000-4000-8000-000000000001"
	groupID = "bbbbbbbb-0000-4000-8000-000000000001"
)

func newServer(t *testing.T, text []byte) *simulator.Server {
	t.Helper()
	server, err := simulator.NewServer(text)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

func uuidSet(ids ...string) ovsdb.OvsSet {
	set := ovsdb.OvsSet{}
	for _, id := range ids {
		set.GoSet = append(set.GoSet, ovsdb.UUID{GoUUID: id})
	}
	return set
}

func where(id string) []ovsdb.Condition {
	return []ovsdb.Condition{{Column: "_uuid", Function: ovsdb.ConditionEqual, Value: ovsdb.UUID{GoUUID: id}}}
}

// populate makes a switch with two ports, both in a group with one access control list.
func populate(t *testing.T, server *simulator.Server) {
	t.Helper()
	require.NoError(t, server.AddSwitch("ls"))
	require.NoError(t, server.AddPort("ls", "p1", map[string]string{"pod": "shop/web 1"}))
	require.NoError(t, server.AddPort("ls", "p2", nil))
	_, err := server.Transact(
		ovsdb.Operation{Op: "insert", Table: "ACL", UUID: aclID, Row: ovsdb.Row{
			"action": "allow-related", "direction": "to-lport", "priority": 1001, "match": "outport == @pg && ip4",
		}},
		ovsdb.Operation{Op: "insert", Table: "Port_Group", UUID: groupID, Row: ovsdb.Row{
			"name": "pg", "acls": uuidSet(aclID),
			"ports": uuidSet(simulator.UUIDOf("Logical_Switch_Port", "p1"), simulator.UUIDOf("Logical_Switch_Port", "p2")),
		}},
	)
	require.NoError(t, err)
}

func TestDump(t *testing.T) {
	server := newServer(t, schema.NB2303())
	populate(t, server)
	require.Equal(t, `Logical_Switch ls
    ports: p1, p2
Port_Group pg
    acls:
      -
        action: allow-related
        direction: to-lport
        match: "outport == @pg && ip4"
        priority: 1001
    ports: p1, p2
`, server.Dump())
	require.Equal(t, `Logical_Switch_Port p1
    external_ids: pod="shop/web 1"
Logical_Switch_Port p2
no table Nonsense
`, server.Dump("Logical_Switch_Port", "Nonsense"))
}

func TestReferences(t *testing.T) {
	server := newServer(t, schema.NB2303())
	populate(t, server)
	require.NoError(t, server.DeletePort("ls", "p1"))
	require.Contains(t, server.Dump("Port_Group"), "ports: p2\n", "a weak reference goes with its row")

	results, err := server.Transact(ovsdb.Operation{Op: "delete", Table: "ACL", Where: where(aclID)})
	require.Error(t, err)
	require.Equal(t, "referential integrity violation", results[1].Error)
	_, err = server.Transact(ovsdb.Operation{Op: "delete", Table: "Port_Group", Where: where(groupID)})
	require.NoError(t, err)
	require.Empty(t, server.Dump("ACL"), "a row without references is collected")
}

func TestNewerSchemaHasMore(t *testing.T) {
	tiered := ovsdb.Row{"action": "pass", "direction": "to-lport", "priority": 1, "match": "ip", "tier": 3}
	insert := ovsdb.Operation{Op: "insert", Table: "ACL", UUID: aclID, Row: tiered}
	_, err := newServer(t, schema.NB2503()).Transact(insert)
	require.NoError(t, err)
	results, err := newServer(t, schema.NB2303()).Transact(insert)
	require.Error(t, err)
	require.NotEmpty(t, results[0].Error)
}

func TestCountersCountWhatClientsDo(t *testing.T) {
	server := newServer(t, schema.NB2303())
	require.NoError(t, server.Start("tcp:127.0.0.1:0"))
	populate(t, server)
	raw, err := ovsdbtest.DialRaw(t.Context(), server.Addr(), "OVN_Northbound")
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	require.Zero(t, server.Transactions(), "what a test does itself is not counted")
	_, err = raw.Transact(
		ovsdb.Operation{Op: "insert", Table: "Address_Set", Row: ovsdb.Row{"name": "a"}},
		ovsdb.Operation{Op: "update", Table: "ACL", Where: where(aclID), Row: ovsdb.Row{"match": "ip"}},
		ovsdb.Operation{Op: "update", Table: "ACL", Where: where(aclID), Row: ovsdb.Row{"match": "ip6"}},
	)
	require.NoError(t, err)
	_, err = raw.Select("ACL", nil, "match")
	require.NoError(t, err)
	stats := server.Stats()
	require.Equal(t, 1, stats.Transactions)
	require.Equal(t, 1, stats.Reads)
	require.Equal(t, map[string]map[string]int{"Address_Set": {"insert": 1}, "ACL": {"update": 2, "select": 1}}, stats.Ops)
	require.Positive(t, stats.BytesIn)
	require.Positive(t, stats.BytesOut)
	server.Reset()
	require.Equal(t, simulator.Stats{Ops: map[string]map[string]int{}}, server.Stats())
}

func TestFailAtCountsWritesOnly(t *testing.T) {
	server := newServer(t, schema.NB2303())
	require.NoError(t, server.Start("tcp:127.0.0.1:0"))
	raw, err := ovsdbtest.DialRaw(t.Context(), server.Addr(), "OVN_Northbound")
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	add := func(name string) error {
		_, err := raw.Transact(ovsdb.Operation{Op: "insert", Table: "Address_Set", Row: ovsdb.Row{"name": name}})
		return err
	}
	server.FailAt(2, simulator.BeforeCommit)
	server.FailAt(4, simulator.AfterCommit)
	_, err = raw.Select("ACL", nil)
	require.NoError(t, err)
	require.NoError(t, add("a"))
	require.ErrorContains(t, add("b"), "injected")
	require.NoError(t, add("c"))
	require.Error(t, add("d"))
	require.Equal(t, "Address_Set a\nAddress_Set c\nAddress_Set d\n", server.Dump("Address_Set"))
}

func TestStartTwiceAndAfterClose(t *testing.T) {
	server := newServer(t, schema.NB2303())
	require.ErrorContains(t, server.Start("udp:x"), "expected unix:PATH or tcp:HOST:PORT")
	require.NoError(t, server.Start("tcp:127.0.0.1:0"))
	require.Error(t, server.Start("tcp:127.0.0.1:0"))
	server.Close()
	server.Close()
	require.Error(t, server.Start("tcp:127.0.0.1:0"))
}

// FuzzTransact checks that no request makes the server panic or leave a database that references nothing.
func FuzzTransact(f *testing.F) {
	f.Add(`[{"op":"insert","table":"Address_Set","row":{"name":"a","addresses":["set",["x"]]}}]`)
	f.Add(`[{"op":"mutate","table":"Port_Group","where":[["name","==","pg"]],"mutations":[["ports","delete",["set",[]]]]}]`)
	f.Add(`[{"op":"update","table":"ACL","where":[],"row":{"priority":3,"label":1.5}},{"op":"wait"},{"op":"select","where":1}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var ops []json.RawMessage
		if json.Unmarshal([]byte(text), &ops) != nil {
			return
		}
		server := newServer(t, schema.NB2303())
		populate(t, server)
		require.NoError(t, server.Start("tcp:127.0.0.1:0"))
		raw, err := ovsdbtest.DialRaw(t.Context(), server.Addr(), "OVN_Northbound")
		require.NoError(t, err)
		defer func() { _ = raw.Close() }()
		params := []any{"OVN_Northbound"}
		for _, op := range ops {
			params = append(params, op)
		}
		_, _ = raw.Call("transact", params...) // a refusal is an answer too
		require.NotContains(t, server.Dump(), "(gone)")
	})
}
