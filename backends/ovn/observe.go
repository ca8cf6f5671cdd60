package ovn

import (
	"context"
	"fmt"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// observe reads back every row for policies that carries our owner, by UUID. With adopt it looks at all rows and takes those with a
// UUID that is wanted as well: only we derive it, so the row is ours and lost its mark.
func (b *Backend) observe(
	ctx context.Context, schema ovsdb.Schema, want nb.Rows, adopt bool,
) (nb.Rows, error) {
	have := nb.Rows{}
	where := ovsdb.WithExternalID(map[string]string{nb.KeyOwner: b.names.Owner})
	if adopt {
		where = nil
	}
	for _, table := range nb.PolicyTables() {
		rows, err := b.read(ctx, schema, table, where)
		if err != nil {
			return nil, err
		}
		for _, native := range rows {
			r := nb.Decode(table, native)
			if r.Owner() == b.names.Owner || adopt && want[r.UUID] != nil {
				have[r.UUID] = r
			}
		}
	}
	return have, nil
}

// read selects the columns of ours from a table; there are no rows where the schema has no such table.
func (b *Backend) read(
	ctx context.Context, schema ovsdb.Schema, table string, where []libovsdb.Condition,
) ([]libovsdb.Row, error) {
	if !schema.Has(table) {
		return nil, nil
	}
	columns := []string{"_uuid"}
	for c := range nb.ColumnsOf(table) {
		if schema.HasColumn(table, c) {
			columns = append(columns, c)
		}
	}
	slices.Sort(columns)
	rows, err := b.client.Select(ctx, table, where, columns...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	return rows, nil
}
