package ovsdb_test

import (
	"fmt"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// write adds n address sets, each in a transaction of its own.
func write(t testing.TB, client *ovsdb.Client, n int) int {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("as%d", i)
		_, err := client.Transact(t.Context(), []libovsdb.Operation{
			ovsdb.Insert("Address_Set", simulator.UUIDOf("Address_Set", name), libovsdb.Row{"name": name}),
		})
		require.NoError(t, err)
	}
	return n
}
