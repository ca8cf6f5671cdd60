package ovsdb_test

import (
	"fmt"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

var mine = ovsdb.Map(map[string]string{"owner": "me"})

// watchMine watches address sets and port groups with a mark.
func watchMine(t *testing.T, client *ovsdb.Client) {
	t.Helper()
	where := ovsdb.WithExternalID(map[string]string{"owner": "me"})
	require.NoError(t, client.WatchRows(t.Context(), []ovsdb.RowWatch{
		{Table: "Address_Set", Columns: []string{"addresses", "external_ids", "unknown"}, Where: where, Inserts: true, Updates: true, Deletes: true},
		{Table: "Port_Group", Columns: []string{"ports"}, Where: where, Updates: true},
		{Table: "Unknown", Columns: []string{"name"}, Updates: true},
	}))
}

// rowChanges waits for changes.
func rowChanges(t *testing.T, client *ovsdb.Client) []ovsdb.RowChange {
	t.Helper()
	var all []ovsdb.RowChange
	until(t, client, "changes of rows", func() bool {
		changes, complete := client.RowChanges()
		require.True(t, complete)
		all = append(all, changes...)
		return len(all) > 0
	})
	return all
}

func TestWatchedRowsReportWhatChanged(t *testing.T) {
	server := startFake(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}})
	set, group := simulator.UUIDOf("Address_Set", "s"), simulator.UUIDOf("Port_Group", "g")
	addresses := make([]string, 10_000)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("10.0.%d.%d", i/256, i%256)
	}
	transact := func(ops ...libovsdb.Operation) {
		t.Helper()
		_, err := server.Transact(ops...)
		require.NoError(t, err)
	}
	transact(ovsdb.Insert("Address_Set", set, libovsdb.Row{"name": "s", "external_ids": mine, "addresses": ovsdb.Set(addresses)}))
	watchMine(t, client)
	server.Reset()

	transact(ovsdb.MutateSet("Address_Set", set, "addresses", []string{"192.0.2.1"}, addresses[:1]))
	change := rowChanges(t, client)[0]
	require.Equal(t, ovsdb.RowChange{
		Event: ovsdb.RowUpdated, Table: "Address_Set", UUID: set, Columns: change.Columns,
	}, change)
	require.ElementsMatch(t, []string{"10.0.0.0", "192.0.2.1"}, ovsdb.Strings(change.Columns["addresses"]))
	require.Less(t, server.Stats().BytesOut, int64(1000), "of a set of ten thousand only the difference is transferred")

	transact(ovsdb.Update("Address_Set", set, libovsdb.Row{"external_ids": ovsdb.Map(nil)}))
	require.Equal(t, []ovsdb.RowChange{{Event: ovsdb.RowDeleted, Table: "Address_Set", UUID: set}}, rowChanges(t, client), "without its mark")
	transact(ovsdb.MutateSet("Address_Set", set, "addresses", []string{"192.0.2.2"}, nil))
	transact(ovsdb.Update("Address_Set", set, libovsdb.Row{"external_ids": mine, "addresses": ovsdb.Set([]string{"192.0.2.3"})}))
	require.Equal(t, []ovsdb.RowChange{{Event: ovsdb.RowInserted, Table: "Address_Set", UUID: set, Columns: libovsdb.Row{
		"external_ids": mine, "addresses": "192.0.2.3",
	}}}, rowChanges(t, client), "with its mark")

	require.NoError(t, server.AddSwitch("sw"))
	require.NoError(t, server.AddPort("sw", "p1", nil))
	require.NoError(t, server.AddPort("sw", "p2", nil))
	ports := []string{simulator.UUIDOf("Logical_Switch_Port", "p1"), simulator.UUIDOf("Logical_Switch_Port", "p2")}
	transact(ovsdb.Insert("Port_Group", group, libovsdb.Row{"name": "g", "external_ids": mine, "ports": ovsdb.UUIDs(ports)}))
	require.NoError(t, server.DeletePort("sw", "p1"))
	transact(ovsdb.MutateSet("Port_Group", group, "ports", nil, []libovsdb.UUID{{GoUUID: ports[1]}}))
	changes := rowChanges(t, client)
	require.Len(t, changes, 1, "a deleted port leaves its groups by itself")
	require.Equal(t, ports[1:], ovsdb.Strings(changes[0].Columns["ports"]))
}

func TestWatchedRowsAreBoundedAndCanBeIgnored(t *testing.T) {
	server := startFake(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}})
	watchMine(t, client)
	insert := func(n int) {
		t.Helper()
		ops := make([]libovsdb.Operation, n)
		for i := range ops {
			name := fmt.Sprint("s", n, "-", i)
			ops[i] = ovsdb.Insert("Address_Set", simulator.UUIDOf("Address_Set", name), libovsdb.Row{"name": name, "external_ids": mine})
		}
		_, err := server.Transact(ops...)
		require.NoError(t, err)
	}
	insert(5000)
	var complete bool
	var changes []ovsdb.RowChange
	until(t, client, "too many changes", func() bool {
		changes, complete = client.RowChanges()
		return !complete
	})
	require.Empty(t, changes)

	client.IgnoreRows()
	insert(10)
	_, err := client.Select(t.Context(), "Address_Set", nil)
	require.NoError(t, err)
	changes, complete = client.RowChanges()
	require.True(t, complete)
	require.Empty(t, changes)

	watchMine(t, client)
	insert(20)
	require.Len(t, rowChanges(t, client), 20)
}

// TestOwnTransactionsAreRecordedBeforeTheyReturn writes rows that are watched. Its own changes do not wake it.
func TestOwnTransactionsAreRecordedBeforeTheyReturn(t *testing.T) {
	server := startFake(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}})
	watchMine(t, client)
	for len(client.Wake()) > 0 {
		<-client.Wake()
	}
	for i := range 200 {
		name := fmt.Sprint("s", i)
		_, err := client.Transact(t.Context(), []libovsdb.Operation{
			ovsdb.Insert("Address_Set", simulator.UUIDOf("Address_Set", name), libovsdb.Row{"name": name, "external_ids": mine}),
		})
		require.NoError(t, err)
		changes, complete := client.RowChanges()
		require.True(t, complete)
		require.Len(t, changes, 1)
		require.Empty(t, client.Wake())
	}
}

func TestWatchRowsNeedsAServerWithConditions(t *testing.T) {
	server := startFake(t)
	server.WithoutConditions()
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}})
	for range 2 {
		require.ErrorIs(t, client.WatchRows(t.Context(), nil), ovsdb.ErrNoConditions)
	}
	idle, err := ovsdb.New(ovsdb.Options{Endpoints: []string{server.Addr()}})
	require.NoError(t, err)
	require.ErrorIs(t, idle.WatchRows(t.Context(), nil), ovsdb.ErrNotConnected)
}
