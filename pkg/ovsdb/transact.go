package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// selectWeight is the assumed cost of reading a table, in bytes of a transaction.
const selectWeight = 500_000

// Transact runs ops as one transaction, which is committed completely or not at all, and checks the result of each. It
// does not wait for a connection.
//
// A refusal by the server is an OperationError: see IsDuplicate and IsConstraint. ErrNotConnected means that nothing was
// sent. ErrUnknownOutcome means that it may have been committed; it is also returned if ctx ended while the server was at
// work.
func (c *Client) Transact(ctx context.Context, ops []ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	s := c.current()
	if s == nil {
		return nil, c.NotConnected()
	}
	c.rows.writes(1)
	defer c.rows.writes(-1)
	return c.transact(ctx, s, ops, 0, nil)
}

// transact passes the rows that ops read to each, unless that is nil, from the goroutine that reads the connection.
func (c *Client) transact(
	ctx context.Context, s *session, ops []ovsdb.Operation, weight int64, each func(op int, row ovsdb.Row),
) ([]ovsdb.OperationResult, error) {
	params, err := appendTransact(make([]byte, 0, 256*len(ops)), c.opts.Database, ops)
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	r := &results{each: each, ops: len(ops)}
	defer r.abandon()
	_, err = s.conn.exchange(ctx, params, weight+int64(len(params)), call{method: "transact", stream: r.decode})
	if err != nil {
		return nil, outcome(err)
	}
	return r.list, checkResults(r.list, ops)
}

// outcome adds to the error of a request what it means for the transaction.
func outcome(err error) error {
	var refusal *rpcError
	switch {
	case errors.Is(err, ErrNotConnected), errors.Is(err, errUnsent):
		return err
	case errors.As(err, &refusal) && refusal.Kind != kindCanceled:
		return err
	default:
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
}

// Select reads the rows of a table that meet all conditions; no conditions select every row. Only ByUUID finds a row
// without a scan. Columns that the server lacks are left out of the rows; without columns, all are read. Rows always have
// _uuid.
func (c *Client) Select(ctx context.Context, table string, where []ovsdb.Condition, columns ...string) ([]ovsdb.Row, error) {
	var rows []ovsdb.Row
	if err := c.SelectEach(ctx, table, where, columns, func(row ovsdb.Row) { rows = append(rows, row) }); err != nil {
		return nil, err
	}
	return rows, nil
}

// SelectEach is Select for a table that may be large: each is called with every row while the reply arrives, and not after
// SelectEach has returned. Nothing else is received in the meantime, so it must not use the client. After an error it has been
// called with some of the rows, or none.
func (c *Client) SelectEach(
	ctx context.Context, table string, where []ovsdb.Condition, columns []string, each func(ovsdb.Row),
) error {
	s := c.current()
	if s == nil {
		return c.NotConnected()
	}
	if !s.schema.Has(table) {
		return fmt.Errorf("select from %s: no such table in schema %s", table, s.schema.Version)
	}
	op := s.schema.selecting(table, columns)
	op.Where = where
	_, err := c.transact(ctx, s, []ovsdb.Operation{op}, selectWeight, func(_ int, row ovsdb.Row) { each(row) })
	if err != nil {
		return fmt.Errorf("select from %s: %w", table, err)
	}
	return nil
}

// selecting is the operation that reads a table, without the columns that the server lacks.
func (s Schema) selecting(table string, columns []string) ovsdb.Operation {
	op := ovsdb.Operation{Op: ovsdb.OperationSelect, Table: table}
	if len(columns) > 0 {
		op.Columns = []string{"_uuid"}
		for _, column := range columns {
			if s.HasColumn(table, column) && !slices.Contains(op.Columns, column) {
				op.Columns = append(op.Columns, column)
			}
		}
	}
	return op
}

// Columns is columns of a table to read.
type Columns struct {
	Table string
	Names []string // none are all
}

// SelectTogether reads every row of some tables at one moment, in the order of the argument. Tables that the server lacks
// have no rows; so do columns.
func (c *Client) SelectTogether(ctx context.Context, reads []Columns) ([][]ovsdb.Row, error) {
	s := c.current()
	if s == nil {
		return nil, c.NotConnected()
	}
	var ops []ovsdb.Operation
	var at []int
	for i, r := range reads {
		if s.schema.Has(r.Table) {
			ops, at = append(ops, s.schema.selecting(r.Table, r.Names)), append(at, i)
		}
	}
	out := make([][]ovsdb.Row, len(reads))
	_, err := c.transact(ctx, s, ops, int64(len(ops))*selectWeight, func(op int, row ovsdb.Row) {
		out[at[op]] = append(out[at[op]], row)
	})
	if err != nil {
		return nil, fmt.Errorf("select: %w", err)
	}
	return out, nil
}

// RowRef names one row, and the columns of it that are of interest; none are all.
type RowRef struct {
	Table, UUID string
	Columns     []string
}

// SelectRows reads single rows at one moment, without a scan of their tables. Each is called with every row that exists, as
// that of SelectEach is.
func (c *Client) SelectRows(ctx context.Context, refs []RowRef, each func(table string, row ovsdb.Row)) error {
	s := c.current()
	if s == nil {
		return c.NotConnected()
	}
	var ops []ovsdb.Operation
	var tables []string
	for _, ref := range refs {
		if s.schema.Has(ref.Table) {
			op := s.schema.selecting(ref.Table, ref.Columns)
			op.Where = ByUUID(ref.UUID)
			ops, tables = append(ops, op), append(tables, ref.Table)
		}
	}
	if len(ops) == 0 {
		return nil
	}
	_, err := c.transact(ctx, s, ops, selectWeight, func(op int, row ovsdb.Row) { each(tables[op], row) })
	if err != nil {
		return fmt.Errorf("select: %w", err)
	}
	return nil
}
