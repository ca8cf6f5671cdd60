package ovn

import (
	"fmt"
	"strings"
)

// commit checks the constraints of the database as a whole, collects unreferenced rows and removes weak references to
// deleted rows. It returns the changes to apply.
func (x *txn) commit() ([]*change, *fault) {
	delta, f := x.countStrong()
	if f != nil {
		return nil, f
	}
	x.collect(delta)
	for _, ch := range x.order {
		if ch.now == nil && ch.old != nil {
			if n := x.db.strong[ch.key] + delta[ch.key]; n > 0 {
				return nil, faultf(referentialError, "cannot delete %s row %s because of %d remaining reference(s)",
					ch.key.table.name, ch.key.id, n)
			}
		}
	}
	if f := x.dropWeak(); f != nil {
		return nil, f
	}
	changes := x.order[:0:0]
	for _, ch := range x.order {
		if !ch.isNoop() {
			changes = append(changes, ch)
		}
	}
	if f := x.checkRows(changes); f != nil {
		return nil, f
	}
	return changes, x.checkIndexes(changes)
}

// isNoop reports whether ch leaves the row as it was.
func (ch *change) isNoop() bool {
	if ch.old == nil || ch.now == nil {
		return ch.old == nil && ch.now == nil
	}
	for i := range ch.now.cells {
		if !ch.now.cells[i].equal(ch.old.cells[i]) {
			return false
		}
	}
	return true
}

// countStrong counts by how much the strong references to each row change.
func (x *txn) countStrong() (map[rowKey]int, *fault) {
	delta := make(map[rowKey]int)
	var f *fault
	for _, ch := range x.order {
		ch.key.table.eachRef(ch.old, ch.now, false, func(c *column, to rowKey, sign int) {
			if to.id == ch.key.id {
				return // see countRefs
			}
			delta[to] += sign
			if sign > 0 && x.get(to) == nil && x.db.rows[to.table][to.id] == nil && f == nil {
				f = faultf(referentialError, "Table %s column %s row %s references nonexistent row %s in table %s.",
					ch.key.table.name, c.name, ch.key.id, to.id, to.table.name)
			}
		})
	}
	return delta, f
}

// collect deletes the rows of non-root tables that have no strong reference, and then the rows that only those
// referenced.
func (x *txn) collect(delta map[rowKey]int) {
	var doubtful []rowKey
	for _, ch := range x.order {
		doubtful = append(doubtful, ch.key)
	}
	for key := range delta {
		doubtful = append(doubtful, key)
	}
	for len(doubtful) > 0 {
		key := doubtful[len(doubtful)-1]
		doubtful = doubtful[:len(doubtful)-1]
		r := x.get(key)
		if key.table.root || r == nil || x.db.strong[key]+delta[key] > 0 {
			continue
		}
		key.table.eachRef(r, nil, false, func(_ *column, to rowKey, sign int) {
			if to.id != key.id {
				delta[to] += sign
				doubtful = append(doubtful, to)
			}
		})
		x.set(key, nil)
	}
}

// dropWeak removes weak references to rows that do not exist.
func (x *txn) dropWeak() *fault {
	dangling := make(map[*change]bool)
	for _, gone := range x.order[:len(x.order):len(x.order)] {
		if gone.now != nil {
			continue
		}
		for from := range x.db.weak[gone.key] {
			if r := x.get(from); r != nil {
				x.set(from, r)
				dangling[x.changes[from]] = true
			}
		}
	}
	for _, ch := range x.order {
		ch.key.table.eachRef(ch.old, ch.now, true, func(_ *column, to rowKey, sign int) {
			if sign > 0 && x.get(to) == nil {
				dangling[ch] = true
			}
		})
	}
	for _, ch := range x.order {
		if dangling[ch] {
			if f := x.prune(ch); f != nil {
				return f
			}
		}
	}
	return nil
}

// prune drops dangling weak references from one row.
func (x *txn) prune(ch *change) *fault {
	for _, c := range ch.key.table.columns {
		if !c.refs(true) {
			continue
		}
		d := ch.now.cells[c.at]
		kept := d.filter(func(i int) bool {
			if c.refKey != nil && c.typ.key.RefType == "weak" && x.get(rowKey{c.refKey, d.keys[i].(rowID)}) == nil {
				return false
			}
			return c.refVal == nil || c.typ.value.RefType != "weak" || x.get(rowKey{c.refVal, d.vals[i].(rowID)}) != nil
		})
		if len(kept.keys) == len(d.keys) {
			continue
		}
		if len(kept.keys) < c.typ.min {
			return faultf(constraintViolation, "Weak reference column %q in %q row %s would be empty.", c.name,
				ch.key.table.name, ch.key.id)
		}
		next := x.edit(ch.now)
		next.cells[c.at] = kept
		ch.now = next
	}
	return nil
}

// checkRows checks the limits on the number of rows.
func (x *txn) checkRows(changes []*change) *fault {
	added := make(map[*table]int)
	for _, ch := range changes {
		switch {
		case ch.old == nil:
			added[ch.key.table]++
		case ch.now == nil:
			added[ch.key.table]--
		}
	}
	for t, n := range added {
		if total := len(x.db.rows[t]) + n; n > 0 && total > t.maxRows {
			return faultf(constraintViolation,
				"transaction causes %q table to contain %d rows, greater than the schema-defined limit of %d row(s)",
				t.name, total, t.maxRows)
		}
	}
	return nil
}

// checkIndexes checks the unique indexes.
func (x *txn) checkIndexes(changes []*change) *fault {
	type slot struct {
		table *table
		index int
		value string
	}
	taken := make(map[slot]rowID)
	for _, ch := range changes {
		if ch.now == nil {
			continue
		}
		t := ch.key.table
		for i, columns := range t.indexes {
			s := slot{t, i, indexKey(ch.now, columns)}
			other, clash := taken[s]
			taken[s] = ch.key.id
			if there, ok := x.db.index[t][i][s.value]; !clash && ok && there != ch.key.id {
				if r := x.get(rowKey{t, there}); r != nil && indexKey(r, columns) == s.value {
					other, clash = there, true
				}
			}
			if clash {
				return x.indexFault(t, columns, s.value, other, ch.key.id)
			}
		}
	}
	return nil
}

func (x *txn) indexFault(t *table, columns []*column, value string, first, second rowID) *fault {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = fmt.Sprintf("%q", c.name)
	}
	noun := "column"
	if len(columns) > 1 {
		noun = "columns"
	}
	return faultf(constraintViolation,
		"Transaction causes multiple rows in %q table to have identical values (%s) for index on %s %s.  First row, with "+
			"UUID %s, %s.  Second row, with UUID %s, %s.", t.name, value, noun, strings.Join(names, ", "),
		first, x.history(rowKey{t, first}), second, x.history(rowKey{t, second}))
}

// history describes what the transaction did to a row.
func (x *txn) history(key rowKey) string {
	switch ch, ok := x.changes[key]; {
	case !ok:
		return "existed in the database before this transaction and was not modified by the transaction"
	case ch.old == nil:
		return "was inserted by this transaction"
	default:
		return "had a different value for the index before the transaction" // or the same, which cannot clash
	}
}
