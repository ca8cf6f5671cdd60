package ovn

import (
	"context"
	"errors"
	"fmt"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb"
)

var _ backends.Marker = (*Backend)(nil)

// The columns of NB_Global by which OVN reports progress (ovn-nb(5)): whoever writes to the database increases nb_cfg, ovn-northd copies it
// to sb_cfg once it has translated everything, and sets hv_cfg to what every chassis has installed.
const (
	columnWritten    = "nb_cfg"
	columnTranslated = "sb_cfg"
	columnInstalled  = "hv_cfg"
)

// errNoGlobal is the error of a database without a row in NB_Global, which ovn-northd creates when it first runs.
var errNoGlobal = errors.New("the database has no row in NB_Global: ovn-northd has not run yet")

// Mark implements backends.Marker. It increases nb_cfg, as `ovn-nbctl --wait` does. A later claim of the database does not matter:
// the number only grows, whoever increases it.
func (b *Backend) Mark(ctx context.Context) (uint64, error) {
	ops := []libovsdb.Operation{
		comment(b.names.Owner + " asks which rows are installed"),
		{
			Op: libovsdb.OperationMutate, Table: tableGlobal, Where: []libovsdb.Condition{},
			Mutations: []libovsdb.Mutation{{Column: columnWritten, Mutator: libovsdb.MutateOperationAdd, Value: 1}},
		},
		{Op: libovsdb.OperationSelect, Table: tableGlobal, Where: []libovsdb.Condition{}, Columns: []string{columnWritten}},
	}
	results, err := b.client.Transact(ctx, ops)
	if err != nil {
		return 0, fmt.Errorf("increase %s: %w", columnWritten, err)
	}
	if len(results) < len(ops) || len(results[len(ops)-1].Rows) == 0 {
		return 0, errNoGlobal
	}
	return counterOf(results[len(ops)-1].Rows[0], columnWritten), nil
}

// Installed implements backends.Marker. Through is that of the slowest chassis of the database: which chassis has which port is in the
// Southbound database, which is not read.
func (b *Backend) Installed(ctx context.Context) (backends.Installation, error) {
	rows, err := b.client.Select(ctx, tableGlobal, nil, columnWritten, columnTranslated, columnInstalled)
	if err != nil {
		return backends.Installation{}, fmt.Errorf("read %s: %w", columnInstalled, err)
	}
	if len(rows) == 0 {
		return backends.Installation{}, errNoGlobal
	}
	newest, translated, installed := counterOf(rows[0], columnWritten), counterOf(rows[0], columnTranslated), counterOf(rows[0], columnInstalled)
	out := backends.Installation{Through: min(installed, newest), Newest: newest}
	switch {
	case translated < newest:
		out.Waits = fmt.Sprintf("ovn-northd: %s is %d, %s %d", columnWritten, newest, columnTranslated, translated)
	case installed < newest:
		out.Waits = fmt.Sprintf("ovn-controller on at least one chassis: %s is %d, %s %d", columnWritten, newest, columnInstalled, installed)
	}
	return out, nil
}

// counterOf reads one of these columns, 0 if the row lacks it.
func counterOf(row libovsdb.Row, column string) uint64 {
	return uint64(max(0, ovsdb.Int(row[column])))
}
