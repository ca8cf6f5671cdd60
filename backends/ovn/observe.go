package ovn

import (
	"context"
	"fmt"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// database is what plans read from.
type database struct {
	client *ovsdb.Client
	schema ovsdb.Schema
	owner  string
}

// readOwned reads back every row for policies that is ours: those with our mark and, if a wanted one is not among them,
// those that may have lost it. With adopt, those are always read.
//
// Taken are the names of wanted rows that rows of others have; they are only found if all rows are read.
func (d *database) readOwned(ctx context.Context, want nb.Rows, adopt bool) (have nb.Rows, taken []string, err error) {
	have, taken, err = d.observe(ctx, want, adopt)
	if err == nil && !adopt && len(have) > 0 && missing(want, have) {
		return d.observe(ctx, want, true)
	}
	return have, taken, err
}

// missing reports whether have lacks a row of want.
func missing[T any](want map[string]T, have nb.Rows) bool {
	for uuid := range want {
		if have[uuid] == nil {
			return true
		}
	}
	return false
}

// observe reads the rows for policies with our mark. With adopt it reads all rows and includes those with a wanted UUID:
// only we derive it, so the row is ours and lost its mark.
func (d *database) observe(ctx context.Context, want nb.Rows, adopt bool) (have nb.Rows, taken []string, err error) {
	where := d.marked()
	names := map[tableName]bool{}
	if adopt {
		where, names = nil, namesOf(want)
	}
	have = nb.Rows{}
	err = d.each(ctx, where, nb.PolicyTables(), func(r *nb.Row) {
		w := want[r.UUID]
		if w != nil {
			r.Share(w) // most rows are as they should be
		}
		switch {
		case r.Owner() == d.owner || adopt && w != nil:
			have.Put(r)
		case names[tableName{r.Table, r.Name}]:
			taken = append(taken, r.Name)
		}
	})
	return have, taken, err
}

// tableName is the name of a row in a table whose names are unique.
type tableName struct{ table, name string }

// namesOf lists the names of rows in tables whose names are unique (ovn-nb.ovsschema).
func namesOf(rows nb.Rows) map[tableName]bool {
	out := map[tableName]bool{}
	for _, r := range rows {
		switch r.Table {
		case nb.TablePortGroup, nb.TableAddressSet, nb.TableMeter:
			out[tableName{r.Table, r.Name}] = true
		}
	}
	return out
}

// marked returns the condition for rows with our mark.
func (d *database) marked() []libovsdb.Condition {
	return ovsdb.WithExternalID(map[string]string{nb.KeyOwner: d.owner})
}

// read lists the rows of tables, with the columns that we use; a table that the schema does not have has no rows.
func (d *database) read(ctx context.Context, where []libovsdb.Condition, tables ...string) ([]*nb.Row, error) {
	var out []*nb.Row
	err := d.each(ctx, where, tables, func(r *nb.Row) { out = append(out, r) })
	return out, err
}

// each is read with a function that is called for each row while it arrives.
func (d *database) each(ctx context.Context, where []libovsdb.Condition, tables []string, do func(*nb.Row)) error {
	for _, table := range tables {
		if !d.schema.Has(table) {
			continue
		}
		err := d.client.SelectEach(ctx, table, where, d.columns(table), func(native libovsdb.Row) { do(nb.Decode(table, native)) })
		if err != nil {
			return fmt.Errorf("read %s: %w", table, err)
		}
	}
	return nil
}

// columns lists the columns of a table that we use and the schema has.
func (d *database) columns(table string) []string {
	columns := []string{"_uuid"}
	for c := range nb.ColumnsOf(table) {
		if d.schema.HasColumn(table, c) {
			columns = append(columns, c)
		}
	}
	slices.Sort(columns)
	return columns
}

// readRows reads single rows at one moment, given by UUID and table. Those that do not exist are left out.
func (d *database) readRows(ctx context.Context, tables map[string]string) (nb.Rows, error) {
	refs := make([]ovsdb.RowRef, 0, len(tables))
	for uuid, table := range tables {
		refs = append(refs, ovsdb.RowRef{Table: table, UUID: uuid, Columns: d.columns(table)})
	}
	out := nb.Rows{}
	err := d.client.SelectRows(ctx, refs, func(table string, native libovsdb.Row) { out.Put(nb.Decode(table, native)) })
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return out, nil
}
