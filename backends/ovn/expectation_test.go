package ovn

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// TestExpectations follows what a database reports while netloom adds an address to a set and takes another away.
func TestExpectations(t *testing.T) {
	set := &nb.Row{Table: nb.TableAddressSet, UUID: "s", Name: "s"}
	ops := []*nb.Op{nb.Mutate(set, "addresses", []string{"new"}, []string{"old"})}
	update := func(addresses ...string) ovsdb.RowChange {
		return ovsdb.RowChange{Event: ovsdb.RowUpdated, Table: nb.TableAddressSet, UUID: "s", Columns: libovsdb.Row{
			"addresses": ovsdb.Set(addresses),
		}}
	}
	for _, tc := range []struct {
		name      string
		changes   []ovsdb.RowChange
		explained bool
		want      outcome
	}{
		{"both are reported", []ovsdb.RowChange{update("new", "old")}, true, met},
		{"one by one, as two transactions", []ovsdb.RowChange{update("old"), update("new")}, true, met},
		{"nothing is reported", nil, true, short},
		{"one is missing", []ovsdb.RowChange{update("new")}, true, short},
		{"another client undid it", []ovsdb.RowChange{update("new", "old"), update("old")}, true, short},
		{"another client added one", []ovsdb.RowChange{update("new", "old", "third")}, false, 0},
		{"another client changed another column", []ovsdb.RowChange{update("new", "old"), {
			Event: ovsdb.RowUpdated, Table: nb.TableAddressSet, UUID: "s", Columns: libovsdb.Row{"name": "t"},
		}}, false, 0},
		{"the row was deleted", []ovsdb.RowChange{{Event: ovsdb.RowDeleted, Table: nb.TableAddressSet, UUID: "s"}}, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := expect(nb.NewNamer("a"), ops)["s"]
			none := func(string) bool { return false }
			explained := true
			for i := range tc.changes {
				explained = explained && e.explains(none, &tc.changes[i])
			}
			require.Equal(t, tc.explained, explained)
			if explained {
				require.Equal(t, tc.want, e.outcome(none))
			}
		})
	}
}
