package nbwatch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
)

// TestReplica checks that a copy has the rows of each committed state: values, sets and maps that change, and rows that go.
func TestReplica(t *testing.T) {
	endpoint := "unix:" + t.TempDir() + "/nb.sock"
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start(endpoint))
	t.Cleanup(server.Close)
	writer, err := ovsdbtest.DialRaw(t.Context(), endpoint, "OVN_Northbound")
	require.NoError(t, err)
	replica, states := nbwatch.NewReplica(), make(chan nbtrace.Rows, 10)
	w, err := nbwatch.Start(t.Context(), endpoint, func(c nbwatch.Change) {
		if replica.Apply(c); c.Last {
			states <- replica.Rows()
		}
	}, nbwatch.ReplicaTables()...)
	require.NoError(t, err)
	transact := func(ops ...any) nbtrace.Rows {
		_, err := writer.Transact(ops...)
		require.NoError(t, err)
		return <-states
	}
	port := []any{"named-uuid", "port"}
	rows := transact(
		map[string]any{"op": "insert", "table": "Logical_Switch_Port", "uuid-name": "port", "row": map[string]any{"name": "a", "addresses": "dynamic"}},
		map[string]any{"op": "insert", "table": "Logical_Switch", "row": map[string]any{"name": "sw", "ports": port}},
		map[string]any{"op": "insert", "table": "ACL", "uuid-name": "acl", "row": map[string]any{
			"direction": "to-lport", "priority": 7, "match": "ip4", "action": "drop", "options": []any{"map", []any{[]any{"apply-after-lb", "true"}}},
		}},
		map[string]any{"op": "insert", "table": "Port_Group", "row": map[string]any{"name": "pg", "ports": port, "acls": []any{"named-uuid", "acl"}}},
	)
	require.Equal(t, []nbtrace.Port{{Name: "a", Addresses: []string{"dynamic"}}}, rows.Ports)
	require.Equal(t, []string{"a"}, rows.Switches[0].Ports)
	require.Len(t, rows.ACLs, 1)
	acl := rows.ACLs[0]
	require.Equal(t, []nbtrace.PortGroup{{Name: "pg", Ports: []string{"a"}, ACLs: []string{acl.UUID}}}, rows.PortGroups)
	require.Equal(t, "to-lport drop ip4", acl.Direction+" "+acl.Action+" "+acl.Match)
	require.Equal(t, 7, acl.Priority)
	require.Equal(t, map[string]string{"apply-after-lb": "true"}, acl.Options)

	rows = transact(
		map[string]any{"op": "update", "table": "Port_Group", "where": []any{}, "row": map[string]any{"ports": []any{"set", []any{}}}},
		map[string]any{"op": "update", "table": "ACL", "where": []any{}, "row": map[string]any{"action": "allow", "options": []any{"map", []any{}}}},
	)
	require.Empty(t, rows.PortGroups[0].Ports)
	require.Equal(t, "allow", rows.ACLs[0].Action)
	require.Empty(t, rows.ACLs[0].Options)

	rows = transact(map[string]any{"op": "delete", "table": "Port_Group", "where": []any{}})
	require.Empty(t, rows.PortGroups)
	require.NoError(t, w.Close())
}
