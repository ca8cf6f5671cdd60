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
func (d *database) readOwned(ctx context.Context, want nb.Rows, adopt bool) (nb.Rows, error) {
	have, err := d.observe(ctx, want, adopt)
	if err == nil && !adopt && len(have) > 0 && missing(want, have) {
		have, err = d.observe(ctx, want, true)
	}
	return have, err
}

// missing reports whether a wanted row was not read back.
func missing(want, have nb.Rows) bool {
	for uuid := range want {
		if have[uuid] == nil {
			return true
		}
	}
	return false
}

// observe reads the rows for policies with our mark. With adopt it reads all rows and includes those with a wanted UUID:
// only we derive it, so the row is ours and lost its mark.
func (d *database) observe(ctx context.Context, want nb.Rows, adopt bool) (nb.Rows, error) {
	where := d.marked()
	if adopt {
		where = nil
	}
	rows, err := d.read(ctx, where, nb.PolicyTables()...)
	if err != nil {
		return nil, err
	}
	have := nb.Rows{}
	for _, r := range rows {
		if r.Owner() == d.owner || adopt && want[r.UUID] != nil {
			have.Put(r)
		}
	}
	return have, nil
}

// marked returns the condition for rows with our mark.
func (d *database) marked() []libovsdb.Condition {
	return ovsdb.WithExternalID(map[string]string{nb.KeyOwner: d.owner})
}

// read reads the columns that we use from tables; a table that the schema does not have has no rows.
func (d *database) read(ctx context.Context, where []libovsdb.Condition, tables ...string) ([]*nb.Row, error) {
	var out []*nb.Row
	for _, table := range tables {
		if !d.schema.Has(table) {
			continue
		}
		columns := []string{"_uuid"}
		for c := range nb.ColumnsOf(table) {
			if d.schema.HasColumn(table, c) {
				columns = append(columns, c)
			}
		}
		slices.Sort(columns)
		rows, err := d.client.Select(ctx, table, where, columns...)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		for _, native := range rows {
			out = append(out, nb.Decode(table, native))
		}
	}
	return out, nil
}
