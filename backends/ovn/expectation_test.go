package ovn

import (
	"fmt"
	"slices"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
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
			if tc.explained && tc.want == met && len(tc.changes) == 1 {
				all := &reports{}
				all.add(ops, tc.changes, true)
				require.Empty(t, expect(nb.NewNamer("a"), ops, all), "it is compared as a whole")
			}
			e := expect(nb.NewNamer("a"), ops, &reports{})["s"]
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

// TestReportsOfMutatedSets follows what a database reports of a set after two transactions that add an address each. Whatever was reported
// exactly as it was written and forgotten, the outcome is that of comparing everything.
func TestReportsOfMutatedSets(t *testing.T) {
	set := &nb.Row{Table: nb.TableAddressSet, UUID: "s", Name: "s"}
	first, second := nb.Mutate(set, "addresses", []string{"a"}, []string{"x"}), nb.Mutate(set, "addresses", []string{"b"}, nil)
	update := func(addresses ...string) ovsdb.RowChange {
		return ovsdb.RowChange{Event: ovsdb.RowUpdated, Table: nb.TableAddressSet, UUID: "s", Columns: libovsdb.Row{"addresses": ovsdb.Set(addresses)}}
	}
	for _, tc := range []struct {
		name          string
		first, second []ovsdb.RowChange
		want          outcome
	}{
		{"both as they were written", []ovsdb.RowChange{update("a", "x")}, []ovsdb.RowChange{update("b")}, met},
		{"one of them in vain", []ovsdb.RowChange{update("a", "x")}, nil, short},
		{"the other one in vain", nil, []ovsdb.RowChange{update("b")}, short},
		{"another client undid one", []ovsdb.RowChange{update("a", "x")}, []ovsdb.RowChange{update("b"), update("b")}, short},
		{"another client undid the first after the second", []ovsdb.RowChange{update("a", "x")}, []ovsdb.RowChange{update("b"), update("a", "x")}, short},
		{"another client undid and repeated one", []ovsdb.RowChange{update("a", "x"), update("a")}, []ovsdb.RowChange{update("a"), update("b")}, met},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all, plain := &reports{}, &reports{}
			all.add([]*nb.Op{first}, tc.first, true)
			all.add([]*nb.Op{second}, tc.second, true)
			plain.others = slices.Concat(tc.first, tc.second) // nothing is compared as a whole
			for _, r := range []*reports{all, plain} {
				got := met // of a row of which nothing remains to be compared
				if e := expect(nb.NewNamer("a"), []*nb.Op{first, second}, r)["s"]; e != nil {
					for i := range r.others {
						require.True(t, e.explains(func(string) bool { return false }, &r.others[i]))
					}
					got = e.outcome(func(string) bool { return false })
				}
				require.Equal(t, tc.want, got)
			}
		})
	}
}

// TestAPartOfASetIsComparedAsAWhole counts what is allocated to find that the database has a part of a large set as it was written.
func TestAPartOfASetIsComparedAsAWhole(t *testing.T) {
	addresses := make([]string, 500)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("10.0.%d.%d", i/250, i%250)
	}
	slices.Sort(addresses)
	set := &nb.Row{Table: nb.TableAddressSet, UUID: "s", Name: "s"}
	ops := []*nb.Op{nb.Mutate(set, "addresses", addresses, nil)}
	change := []ovsdb.RowChange{{Event: ovsdb.RowUpdated, Table: nb.TableAddressSet, UUID: "s", Columns: libovsdb.Row{"addresses": ovsdb.Set(addresses)}}}
	names := nb.NewNamer("a")
	require.LessOrEqual(t, testing.AllocsPerRun(20, func() {
		all := &reports{}
		all.add(ops, change, true)
		for _, e := range expect(names, ops, all) {
			for i := range all.others {
				e.explains(func(string) bool { return false }, &all.others[i])
			}
			e.outcome(func(string) bool { return false })
		}
	}), 12.0)
}

// TestExpectationsOfNotes follows what a database reports while netloom adds a note, and while it takes its mark away.
func TestExpectationsOfNotes(t *testing.T) {
	set := &nb.Row{Table: nb.TableAddressSet, UUID: "s", Name: "s"}
	deleted := &ovsdb.RowChange{Event: ovsdb.RowDeleted, Table: nb.TableAddressSet, UUID: "s"}
	none := func(string) bool { return false }
	expected := func(put, cut map[string]string) *expectation {
		return expect(nb.NewNamer("a"), []*nb.Op{nb.Mutate(set, nb.ColumnExternalIDs, put, cut)}, &reports{})["s"]
	}
	note := map[string]string{"NetworkPolicy/shop/a": "spec.ingress[0]"}
	require.False(t, expected(note, nil).explains(none, deleted), "the row is needed")
	require.Equal(t, short, expected(note, nil).outcome(none), "nothing was reported")
	require.Equal(t, short, expected(nil, note).outcome(none))
	require.True(t, expected(nil, map[string]string{nb.KeyOwner: "a"}).explains(none, deleted), "it may be deleted by others now")
	replaced := expected(map[string]string{nb.KeyOwner: "a"}, map[string]string{nb.KeyOwner: "b"})
	require.False(t, replaced.explains(none, deleted), "the row is needed")
	require.Equal(t, short, replaced.outcome(none), "nothing was reported")
}

// TestReportsOfCreatedRows follows what a database reports after netloom has created a set, and what of it is kept until the plan is
// applied.
func TestReportsOfCreatedRows(t *testing.T) {
	set := &nb.Row{Table: nb.TableAddressSet, UUID: "s", Name: "s"}
	creation := nb.Create(&nb.Row{
		Table: nb.TableAddressSet, UUID: "s", Name: "s",
		Fields: backends.Fields{"name": "s", "external_ids": map[string]string{nb.KeyOwner: "a"}},
		Sets:   map[string][]string{"addresses": {"a", "b"}},
	})
	inserted := func(addresses ...string) ovsdb.RowChange {
		return ovsdb.RowChange{Event: ovsdb.RowInserted, Table: nb.TableAddressSet, UUID: "s", Columns: libovsdb.Row{
			"name": "s", "external_ids": ovsdb.Map(map[string]string{nb.KeyOwner: "a"}), "addresses": ovsdb.Set(addresses),
		}}
	}
	updated := func(addresses ...string) ovsdb.RowChange {
		return ovsdb.RowChange{Event: ovsdb.RowUpdated, Table: nb.TableAddressSet, UUID: "s", Columns: libovsdb.Row{
			"addresses": ovsdb.Set(addresses),
		}}
	}
	for _, tc := range []struct {
		name    string
		later   *nb.Op // in another transaction
		changes []ovsdb.RowChange
		done    bool
		want    outcome
	}{
		{"as it was written", nil, []ovsdb.RowChange{inserted("a", "b")}, true, met},
		{"not at all", nil, nil, false, other},
		{"with less", nil, []ovsdb.RowChange{inserted("a")}, false, other},
		{"with more", nil, []ovsdb.RowChange{inserted("a", "b", "c")}, false, other},
		{"another client changed it", nil, []ovsdb.RowChange{inserted("a", "b"), updated("b")}, false, other},
		{"another client changed it and undid that", nil, []ovsdb.RowChange{inserted("a", "b"), updated("b"), updated("b")}, false, met},
		{
			"a later transaction changes it", nb.Mutate(set, "addresses", []string{"c"}, nil),
			[]ovsdb.RowChange{inserted("a", "b"), updated("c")},
			false, met,
		},
		{
			"a later transaction changes it in vain", nb.Mutate(set, "addresses", []string{"c"}, nil),
			[]ovsdb.RowChange{inserted("a", "b")},
			false, other,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ops, all := []*nb.Op{creation}, &reports{}
			all.add(ops, tc.changes[:min(len(tc.changes), 1)], true)
			if tc.later != nil {
				ops = append(ops, tc.later)
			}
			all.add(ops[1:], tc.changes[min(len(tc.changes), 1):], true)
			e, found := expect(nb.NewNamer("a"), ops, all)["s"]
			require.Equal(t, tc.done, !found)
			if tc.done {
				require.Empty(t, all.others, "nothing of the row is kept")
				return
			}
			none := func(string) bool { return false }
			for i := range all.others {
				require.True(t, e.explains(none, &all.others[i]))
			}
			require.Equal(t, tc.want, e.outcome(none))
		})
	}
}
