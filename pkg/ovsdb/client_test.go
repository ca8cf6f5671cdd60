package ovsdb_test

import (
	"context"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

const (
	id1 = "11111111-1111-4111-8111-111111111111"
	id2 = "22222222-2222-4222-8222-222222222222"
	id3 = "33333333-3333-4333-8333-333333333333"
)

// suite is what a client does on any server, fake or real.
func suite(t *testing.T, endpoint string, raw func(t testing.TB) *ovsdbtest.Raw) {
	client := connect(t, ovsdb.Options{Endpoints: []string{endpoint}, LeaderOnly: true, PortIndexKeys: []string{"pod"}})
	require.Equal(t, endpoint, client.Endpoint())
	require.EqualValues(t, 1, client.Epoch())
	t.Run("the schema says what there is", func(t *testing.T) { suiteSchema(t, client) })
	t.Run("rows are written and read back", func(t *testing.T) { suiteRows(t, client) })
	t.Run("a refused transaction says why", func(t *testing.T) { suiteErrors(t, client) })
	t.Run("ports appear, change and disappear", func(t *testing.T) { suitePorts(t, client, raw(t)) })
}

func suiteSchema(t *testing.T, client *ovsdb.Client) {
	s := client.Schema()
	require.Equal(t, "7.0.0", s.Version)
	require.True(t, s.Has("ACL"))
	require.False(t, s.Has("Sample"))
	require.True(t, s.HasColumn("ACL", "match"))
	require.False(t, s.HasColumn("ACL", "tier"))
	require.False(t, s.HasColumn("Sample", "metadata"))
	require.True(t, s.Enum("ACL", "action", "drop"))
	require.False(t, s.Enum("ACL", "action", "pass"))
	require.False(t, s.Enum("ACL", "match", "ip"))
}

func suiteRows(t *testing.T, client *ovsdb.Client) {
	ctx := t.Context()
	results, err := client.Transact(ctx, []libovsdb.Operation{
		ovsdb.Insert("Address_Set", id1, libovsdb.Row{
			"name": "as1", "addresses": ovsdb.Set([]string{"10.0.0.1", "10.0.0.2"}),
			"external_ids": ovsdb.Map(map[string]string{"owner": "a \"quoted\" ü", "kind": "set"}),
		}),
		ovsdb.Insert("Address_Set", id2, nil),
		ovsdb.Insert("ACL", id1, libovsdb.Row{"action": "drop", "direction": "to-lport", "match": "ip", "priority": 5, "log": true}),
		ovsdb.Insert("Port_Group", id2, libovsdb.Row{"name": "pg1", "acls": ovsdb.UUIDs([]string{id1})}),
	})
	require.NoError(t, err)
	require.Equal(t, id1, results[0].UUID.GoUUID)

	results, err = client.Transact(ctx, []libovsdb.Operation{
		ovsdb.MutateSet("Address_Set", id1, "addresses", []string{"10.0.0.3"}, []string{"10.0.0.1", "10.9.9.9"}),
		ovsdb.Update("ACL", id1, libovsdb.Row{"match": "ip4", "name": "x"}),
		ovsdb.Delete("Address_Set", id2),
		ovsdb.Delete("Address_Set", id3),
	})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1, 0}, []int{results[0].Count, results[1].Count, results[2].Count, results[3].Count})

	rows, err := client.Select(ctx, "Address_Set", nil, "name", "addresses", "external_ids", "no_such_column")
	require.NoError(t, err)
	require.Equal(t, []libovsdb.Row{{
		"_uuid": libovsdb.UUID{GoUUID: id1}, "name": "as1", "addresses": ovsdb.Set([]string{"10.0.0.2", "10.0.0.3"}),
		"external_ids": ovsdb.Map(map[string]string{"owner": "a \"quoted\" ü", "kind": "set"}),
	}}, rows)

	rows, err = client.Select(ctx, "ACL", ovsdb.ByUUID(id1))
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, "ip4", ovsdb.String(rows[0]["match"]))
	require.Equal(t, "x", ovsdb.String(rows[0]["name"]))
	require.Empty(t, ovsdb.String(rows[0]["meter"]))
	require.Equal(t, 5, ovsdb.Int(rows[0]["priority"]))
	require.True(t, ovsdb.Bool(rows[0]["log"]))
	require.Equal(t, map[string]string{}, ovsdb.StringMap(rows[0]["options"]))

	rows, err = client.Select(ctx, "Address_Set", ovsdb.WithExternalID(map[string]string{"kind": "set"}), "name")
	require.NoError(t, err)
	require.Len(t, rows, 1)
	rows, err = client.Select(ctx, "Address_Set", ovsdb.WithExternalID(map[string]string{"kind": "other"}), "name")
	require.NoError(t, err)
	require.Empty(t, rows)
	_, err = client.Select(ctx, "Sample", nil)
	require.ErrorContains(t, err, "no such table")

	_, err = client.Transact(ctx, []libovsdb.Operation{ovsdb.Delete("Port_Group", id2)})
	require.NoError(t, err)
	rows, err = client.Select(ctx, "ACL", nil, "match")
	require.NoError(t, err)
	require.Empty(t, rows, "an ACL without references is collected")
}

func suiteErrors(t *testing.T, client *ovsdb.Client) {
	acl := func(row libovsdb.Row) []libovsdb.Operation {
		full := libovsdb.Row{"action": "drop", "direction": "to-lport", "match": "ip", "priority": 5}
		for k, v := range row {
			full[k] = v
		}
		return []libovsdb.Operation{
			ovsdb.Insert("Port_Group", id2, libovsdb.Row{"name": "pg3", "acls": ovsdb.UUIDs([]string{id3})}),
			ovsdb.Insert("ACL", id3, full),
		}
	}
	long := make([]byte, 64)
	for i := range long {
		long[i] = 'x'
	}
	named := func(uuid, name string) libovsdb.Operation {
		return ovsdb.Insert("Address_Set", uuid, libovsdb.Row{"name": name})
	}
	tests := []struct {
		name                                string
		ops                                 []libovsdb.Operation
		wantDuplicate, wantConstraint, refs bool
		wantIndex                           int
		wantTable                           string
	}{
		{"a uuid that is taken", []libovsdb.Operation{named(id1, "x")}, true, false, false, 0, "Address_Set"},
		{
			"a uuid deleted in the same transaction",
			[]libovsdb.Operation{ovsdb.Delete("Address_Set", id1), named(id1, "x")},
			true, false, false, 1, "Address_Set",
		},
		{"a name that is taken", []libovsdb.Operation{named(id2, "as1")}, true, true, false, -1, ""},
		{"not in the enum", acl(libovsdb.Row{"action": "pass"}), false, true, false, 1, "ACL"},
		{"out of range", acl(libovsdb.Row{"priority": 32768}), false, true, false, 1, "ACL"},
		{"too long", acl(libovsdb.Row{"name": string(long)}), false, true, false, 1, "ACL"},
		{"a reference to nothing", []libovsdb.Operation{
			ovsdb.Insert("Port_Group", id3, libovsdb.Row{"name": "pg3", "acls": ovsdb.UUIDs([]string{id2})}),
		}, false, false, true, -1, ""},
		{"no such column", acl(libovsdb.Row{"tier": 1}), false, false, false, 1, "ACL"},
		{"a value of another type", acl(libovsdb.Row{"match": 1}), false, false, false, 1, "ACL"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := client.Transact(t.Context(), tc.ops)
			var refused *ovsdb.OperationError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, tc.wantDuplicate, ovsdb.IsDuplicate(err), err)
			require.Equal(t, tc.wantConstraint, ovsdb.IsConstraint(err), err)
			require.Equal(t, tc.refs, ovsdb.IsReferential(err), err)
			require.Equal(t, tc.wantIndex, refused.Index, err)
			require.Equal(t, tc.wantTable, refused.Table, err)
			if refused.Index >= 0 {
				require.Equal(t, tc.ops[refused.Index].UUID, refused.Row)
			}
			rows, err := client.Select(t.Context(), "Port_Group", nil, "name")
			require.NoError(t, err)
			require.Empty(t, rows, "a refused transaction leaves nothing")
		})
	}
}

// changedNames takes the names of the ports that changed.
func changedNames(client *ovsdb.Client) []string {
	var names []string
	for _, c := range client.PortChanges() {
		names = append(names, c.Name)
	}
	return names
}

func suitePorts(t *testing.T, client *ovsdb.Client, raw *ovsdbtest.Raw) {
	require.Empty(t, client.PortChanges())
	_, err := raw.Transact(
		libovsdb.Operation{Op: "insert", Table: "Logical_Switch", UUID: id3, Row: libovsdb.Row{
			"name": "ls", "ports": ovsdb.UUIDs([]string{id1, id2}),
		}},
		libovsdb.Operation{Op: "insert", Table: "Logical_Switch_Port", UUID: id1, Row: libovsdb.Row{
			"name": "p1", "external_ids": ovsdb.Map(map[string]string{"pod": "a/b", "other": "x"}),
		}},
		libovsdb.Operation{Op: "insert", Table: "Logical_Switch_Port", UUID: id2, Row: libovsdb.Row{"name": "p2"}},
	)
	require.NoError(t, err)
	var changes []string
	gather := func(n int) func() bool {
		changes = nil
		return func() bool {
			changes = append(changes, changedNames(client)...)
			return len(changes) >= n
		}
	}
	until(t, client, "the port with an indexed key", gather(1))
	require.Equal(t, []string{"p1"}, changes)
	uuid, ok := client.Port("p1")
	require.True(t, ok)
	require.Equal(t, id1, uuid)
	require.Equal(t, []ovsdb.Port{{UUID: id1, Name: "p1", ExternalIDs: map[string]string{"pod": "a/b"}}},
		client.PortsByExternalID("pod", "a/b"))
	require.Empty(t, client.PortsByExternalID("other", "x"))

	_, err = client.Transact(t.Context(), []libovsdb.Operation{
		ovsdb.Insert("Port_Group", id3, libovsdb.Row{"name": "pg2", "ports": ovsdb.UUIDs([]string{id1, id2})}),
	})
	require.NoError(t, err)
	_, err = client.Transact(t.Context(), []libovsdb.Operation{
		ovsdb.MutateSet("Logical_Switch", id3, "ports", nil, []libovsdb.UUID{{GoUUID: id1}}),
		ovsdb.Update("Logical_Switch_Port", id2, libovsdb.Row{"external_ids": map[string]string{"pod": "a/c"}}),
	})
	require.NoError(t, err)
	until(t, client, "two changes", gather(2))
	require.Equal(t, []string{"p1", "p2"}, changes)
	_, ok = client.Port("p1")
	require.False(t, ok)
	require.Empty(t, client.PortsByExternalID("pod", "a/b"))
	require.Len(t, client.PortsByExternalID("pod", "a/c"), 1)
	rows, err := client.Select(t.Context(), "Port_Group", nil, "ports")
	require.NoError(t, err)
	require.Equal(t, []string{id2}, ovsdb.Strings(rows[0]["ports"]), "a deleted port leaves its groups")
}

func TestClientOnTheFake(t *testing.T) {
	server := startFake(t)
	suite(t, server.Addr(), func(t testing.TB) *ovsdbtest.Raw { return dialRaw(t, server.Addr()) })
}

func dialRaw(t testing.TB, endpoint string) *ovsdbtest.Raw {
	t.Helper()
	raw, err := ovsdbtest.DialRaw(t.Context(), endpoint, ovsdb.DefaultDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	return raw
}

func TestNotConnected(t *testing.T) {
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []string{"unix:/nowhere"}})
	require.NoError(t, err)
	_, err = client.Transact(t.Context(), []libovsdb.Operation{ovsdb.Delete("ACL", id1)})
	require.ErrorIs(t, err, ovsdb.ErrNotConnected)
	_, err = client.Select(t.Context(), "ACL", nil)
	require.ErrorIs(t, err, ovsdb.ErrNotConnected)
	require.False(t, client.Connected())
	require.Empty(t, client.Endpoint())
	require.False(t, client.Schema().Has("ACL"))
}

func TestReconnectAfterDrop(t *testing.T) {
	server := startFake(t)
	require.NoError(t, server.AddSwitch("ls"))
	require.NoError(t, server.AddPort("ls", "stays", nil))
	require.NoError(t, server.AddPort("ls", "goes", nil))
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}, LeaderOnly: true})
	require.Equal(t, []string{"goes", "stays"}, changedNames(client))

	server.Drop()
	require.NoError(t, server.DeletePort("ls", "goes"))
	require.NoError(t, server.AddPort("ls", "comes", nil))
	until(t, client, "another epoch", func() bool { return client.Epoch() >= 2 && client.Connected() })
	require.Equal(t, []string{"comes", "goes"}, changedNames(client), "only what differs from before the loss")
}

func TestUnknownOutcome(t *testing.T) {
	server := startFake(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}, LeaderOnly: true})
	insert := []libovsdb.Operation{ovsdb.Insert("Address_Set", id1, libovsdb.Row{"name": "a"})}

	server.FailAt(1, simulator.BeforeCommit)
	_, err := client.Transact(t.Context(), insert)
	var refused *ovsdb.OperationError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, -1, refused.Index, "a commit error comes behind the results of all operations")
	require.Empty(t, server.Dump("Address_Set"))

	server.FailAt(1, simulator.AfterCommit)
	_, err = client.Transact(t.Context(), insert)
	require.ErrorIs(t, err, ovsdb.ErrUnknownOutcome)
	require.Equal(t, "Address_Set a\n", server.Dump("Address_Set"))

	until(t, client, "the next connection", func() bool { return client.Epoch() >= 2 })
	_, err = client.Transact(t.Context(), insert)
	require.True(t, ovsdb.IsDuplicate(err), err)
}

func TestCancelledContextReturnsPromptly(t *testing.T) {
	server := startFake(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}, LeaderOnly: true})
	ops := []libovsdb.Operation{ovsdb.Insert("Address_Set", id1, libovsdb.Row{"name": "a"})}
	ctx, cancel := context.WithCancel(t.Context())
	server.Hang()
	done := make(chan error, 1)
	go func() {
		_, err := client.Transact(ctx, ops)
		done <- err
	}()
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	_, err = client.Transact(ctx, ops)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ovsdb.ErrUnknownOutcome, "nothing was sent")
}

func TestOptionsNameEveryFault(t *testing.T) {
	_, err := ovsdb.New(ovsdb.Options{
		Endpoints:   []string{"tcp:1.2.3.4", "udp:1.2.3.4:5", "unix:", "ssl:[::1]:6641", "tcp::6641", "tcp:h:0", "nothing", "ssl:[::1]:6641"},
		TLS:         ovsdb.TLSFiles{Cert: "c"},
		DialTimeout: -1, ProbeInterval: -1,
	})
	for _, want := range []string{
		`"tcp:1.2.3.4": expected HOST:PORT`, `unknown scheme "udp"`, `"unix:": no path`, `"tcp::6641": no host`,
		`port "0"`, `"nothing": expected unix:PATH`, "listed twice", "no CA file", "given together", "dial timeout", "probe interval",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = ovsdb.New(ovsdb.Options{})
	require.ErrorContains(t, err, "no endpoint")
}

func TestSecondRunIsRefused(t *testing.T) {
	server := startFake(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}})
	require.ErrorContains(t, client.Run(t.Context()), "already running")
}
