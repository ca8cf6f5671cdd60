package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// randomTables are the tables with rows that random clusters become.
func randomTables() []string {
	return []string{
		"ACL", "Address_Set", "Port_Group", "Load_Balancer", "Load_Balancer_Group", "Chassis_Template_Var",
	}
}

// TestEveryRowOfARandomClusterLeadsToItsOrigin asks for every row, whatever the Services are like.
func TestEveryRowOfARandomClusterLeadsToItsOrigin(t *testing.T) {
	seen := map[string]int{}
	for _, seed := range seeds.Of(t, "rowtrail") {
		dir := t.TempDir()
		text, err := policygen.YAML(policygen.Generate(seed, policygen.Size{Services: 8, Nodes: 3}))
		require.NoError(t, err)
		write(t, dir, "cluster.yaml", string(text))
		server := emptyDatabase(t)
		applied := netloom(t, "apply", "--manifests", dir, "--ovn-nb", server.Addr())
		require.Contains(t, applied.out, "create", "seed %d: %s", seed, applied.errout)
		for _, table := range randomTables() {
			for _, uuid := range uuidsOf(t, server, table) {
				seen[table]++
				got := netloom(t, "explain", "row", uuid, "--ovn-nb", server.Addr(), "-o", "json")
				require.Equal(t, exitDone, got.code, "seed %d: %s %s: %s", seed, table, uuid, got.errout)
				var list struct{ Items []backends.Trail }
				require.NoError(t, json.Unmarshal([]byte(got.out), &list))
				trails := list.Items
				require.Len(t, trails, 1)
				require.NotEmpty(t, trails[0].Origins, "seed %d: %+v", seed, trails[0])
			}
		}
	}
	for _, table := range randomTables() {
		require.True(t, seen[table] > 0 || seeds.Given(), "no row of %s", table)
	}
}

// emptyDatabase is one with a switch for each node of random clusters, and nothing of netloom's.
func emptyDatabase(t *testing.T) *simulator.Server {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(server.Close)
	require.NoError(t, server.AddSwitch("sw"))
	require.NoError(t, server.Start("unix:"+filepath.Join(t.TempDir(), "nb")))
	return server
}

// uuidsOf lists the rows of a table.
func uuidsOf(t *testing.T, server *simulator.Server, table string) []string {
	t.Helper()
	results, err := server.Transact(libovsdb.Operation{
		Op: libovsdb.OperationSelect, Table: table, Where: []libovsdb.Condition{}, Columns: []string{"_uuid"},
	})
	require.NoError(t, err)
	var out []string
	for _, row := range results[0].Rows {
		out = append(out, ovsdb.String(row["_uuid"]))
	}
	return out
}
