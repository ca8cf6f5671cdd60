package nbwatch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
)

// TestWatch runs a watch against a server: existing rows are remembered but not reported, and each transaction is one update.
func TestWatch(t *testing.T) {
	endpoint := "unix:" + t.TempDir() + "/nb.sock"
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start(endpoint))
	t.Cleanup(server.Close)
	writer, err := ovsdbtest.DialRaw(t.Context(), endpoint, "OVN_Northbound")
	require.NoError(t, err)
	insert := func(name, address string) map[string]any {
		return map[string]any{"op": "insert", "table": "Address_Set", "row": map[string]any{
			"name": name, "addresses": address, "external_ids": []any{"map", []any{[]any{"of", name}}},
		}}
	}
	_, err = writer.Transact(insert("before", "10.0.0.1"))
	require.NoError(t, err)

	changes := make(chan nbwatch.Change, 10)
	w, err := nbwatch.Start(t.Context(), endpoint, func(c nbwatch.Change) { changes <- c }, "Address_Set")
	require.NoError(t, err)
	named := func(name string) []any { return []any{[]any{"name", "==", name}} }
	_, err = writer.Transact(insert("after", "10.0.0.2"), map[string]any{
		"op": "mutate", "table": "Address_Set", "where": named("before"),
		"mutations": []any{[]any{"addresses", "insert", []any{"set", []any{"10.0.0.3", "10.0.0.4"}}}},
	})
	require.NoError(t, err)
	_, err = writer.Transact(map[string]any{"op": "delete", "table": "Address_Set", "where": named("before")})
	require.NoError(t, err)

	got := map[nbwatch.Verb]nbwatch.Change{}
	for range 3 {
		c := <-changes
		require.False(t, c.At.IsZero())
		got[c.Verb] = c
	}
	came, differs, went := got[nbwatch.Inserted], got[nbwatch.Modified], got[nbwatch.Deleted]
	require.Equal(t, map[string]string{"of": "after"}, came.ExternalIDs)
	require.Equal(t, []string{"10.0.0.2"}, came.Strings("addresses"))
	require.Equal(t, map[string]string{"of": "before"}, differs.ExternalIDs)
	require.Equal(t, []string{"10.0.0.3", "10.0.0.4"}, differs.Strings("addresses"), "what came, and not what was there")
	require.Equal(t, map[string]string{"of": "before"}, went.ExternalIDs)
	require.Equal(t, came.Number, differs.Number)
	require.Greater(t, went.Number, differs.Number)
	require.NoError(t, w.Close())
}

// TestWatchSaysWhyItEnded checks that the end of a server is reported, and that an unknown table is refused.
func TestWatchSaysWhyItEnded(t *testing.T) {
	endpoint := "unix:" + t.TempDir() + "/nb.sock"
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start(endpoint))
	_, err = nbwatch.Start(t.Context(), endpoint, nil, "Nonsense")
	require.ErrorContains(t, err, "monitor")
	w, err := nbwatch.Start(t.Context(), endpoint, nil, "ACL")
	require.NoError(t, err)
	server.Close()
	await.True(t, func() bool { return w.Err() != nil }, "the watch reports an error")
	require.Error(t, w.Close())
}
