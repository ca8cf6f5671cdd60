package ovn

import (
	"maps"
	"strconv"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// expectations are the changes that applied ops make in rows, by UUID.
type expectations map[string]*expectation

// expectation is the expected change of one row. It follows what the database reports, at a cost that depends on that.
type expectation struct {
	table, uuid string
	created     bool
	gone        bool             // it is deleted, or loses our mark
	cells       map[string]*cell // by column
	deleted     map[string]bool  // the rows that the same ops delete: references to them disappear by themselves
}

// cell is one column of a row: pairs of a map, elements of a set with no value, or the one value under "".
type cell struct {
	state, want map[string]string
	// known are the elements that the ops add or remove, if they do not set the whole column.
	known map[string]bool
	whole bool
}

// outcome is how reported changes compare with an expectation.
type outcome uint8

const (
	other outcome = iota // the row has something else
	short                // less was reported than expected: it was already so, or others have undone it
	met
)

// expect returns the changes that ops make, without the rows that are done according to the reports.
func expect(names nb.Namer, ops []*nb.Op, reported *reports) expectations {
	out, deleted := expectations{}, map[string]bool{}
	done := reported.done(ops)
	for _, o := range ops {
		if done[o.UUID] {
			continue
		}
		if o.Table == nb.TableTemplateVars && o.UUID != names.UUID(nb.TableTemplateVars, o.Name) {
			continue // a row of others with our variables: it is not watched
		}
		e := out[o.UUID]
		if e == nil {
			e = &expectation{table: o.Table, uuid: o.UUID, cells: map[string]*cell{}, deleted: deleted}
			out[o.UUID] = e
		}
		e.add(o)
		if reported.written[o.UUID] == o {
			e.meet(o)
		}
		if o.Verb == backends.Delete {
			deleted[o.UUID] = true
		}
	}
	return out
}

func (e *expectation) add(o *nb.Op) {
	switch o.Verb {
	case backends.Create:
		e.created = true
		for column := range nb.ColumnsOf(e.table) {
			e.cells[column] = &cell{state: map[string]string{}, want: pairsOf(o.After[column]), whole: true}
		}
	case backends.Update:
		for column, value := range o.After {
			e.cells[column] = &cell{state: pairsOf(o.Before[column]), want: pairsOf(value), whole: true}
		}
	case backends.Mutate:
		e.gone = e.gone || unmarks(o)
		for column, value := range o.Before {
			e.mutate(column, pairsOf(value), false)
		}
		for column, value := range o.After {
			e.mutate(column, pairsOf(value), true)
		}
	case backends.Delete:
		e.gone = true
	case backends.Reload:
	}
}

// meet records that the database reported an op exactly as it was written.
func (e *expectation) meet(o *nb.Op) {
	if o.Verb == backends.Create {
		for _, c := range e.cells {
			c.state = maps.Clone(c.want)
		}
		return
	}
	for _, fields := range []backends.Fields{o.Before, o.After} {
		for column, value := range fields {
			for k, v := range pairsOf(value) {
				e.cells[column].toggle(k, v)
			}
		}
	}
}

// unmarks reports whether a mutation removes our mark. One that replaces the mark of others adds it.
func unmarks(o *nb.Op) bool {
	_, cut := pairsOf(o.Before[nb.ColumnExternalIDs])[nb.KeyOwner]
	_, put := pairsOf(o.After[nb.ColumnExternalIDs])[nb.KeyOwner]
	return cut && !put
}

// mutate expects that pairs are added to a column, or removed from it.
func (e *expectation) mutate(column string, pairs map[string]string, add bool) {
	c := e.cells[column]
	if c == nil {
		c = &cell{state: map[string]string{}, want: map[string]string{}, known: map[string]bool{}}
		e.cells[column] = c
	}
	for k, v := range pairs {
		if !add && !c.whole && !c.known[k] {
			c.state[k] = v
		}
		if !c.whole {
			c.known[k] = true
		}
		if add {
			c.want[k] = v
		} else {
			delete(c.want, k)
		}
	}
}

// explains applies a reported change, and reports whether it may be an expected one. Owns reports whether a row that
// switches and routers may refer to is ours.
func (e *expectation) explains(owns func(uuid string) bool, change *ovsdb.RowChange) bool {
	switch change.Event {
	case ovsdb.RowDeleted:
		return e.gone
	case ovsdb.RowInserted:
		if e.gone {
			return false
		}
		r := nb.Decode(e.table, change.Columns)
		for column, c := range e.cells {
			c.state = content(r, column)
			if !c.whole {
				maps.DeleteFunc(c.state, func(k, _ string) bool { return !c.known[k] })
			}
		}
		return true
	case ovsdb.RowUpdated:
		return e.gone || e.follows(owns, change)
	default:
		return false
	}
}

// follows applies the changed columns of a row, and reports whether only expected ones are among them.
func (e *expectation) follows(owns func(uuid string) bool, change *ovsdb.RowChange) bool {
	r := nb.Decode(e.table, change.Columns)
	host := e.table == nb.TableSwitch || e.table == nb.TableRouter
	for column := range change.Columns {
		c, pairs := e.cells[column], content(r, column)
		switch nb.ColumnsOf(e.table)[column] {
		case nb.ColumnMap, nb.ColumnSet, nb.ColumnPairs:
		case nb.ColumnString, nb.ColumnOptional, nb.ColumnInt, nb.ColumnBool:
			if c == nil {
				return false
			}
			c.state = pairs
			continue
		}
		for k, v := range pairs {
			switch {
			case e.deleted[k]:
			case c != nil && (c.whole || c.known[k]):
				c.toggle(k, v)
			case !host || owns(k):
				return false
			}
		}
	}
	return true
}

// toggle applies one pair of a difference: it was added, changed or removed.
func (c *cell) toggle(k, v string) {
	if was, ok := c.state[k]; ok && was == v {
		delete(c.state, k)
		return
	}
	c.state[k] = v
}

// outcome compares what was reported with what was expected. Logical ports that no longer exist are in no group.
func (e *expectation) outcome(portExists func(uuid string) bool) outcome {
	if e.gone {
		return met
	}
	result := met
	for column, c := range e.cells {
		vanished := func(k, _ string) bool {
			if column != "ports" {
				return e.deleted[k]
			}
			return !portExists(k)
		}
		maps.DeleteFunc(c.want, vanished)
		maps.DeleteFunc(c.state, vanished)
		switch {
		case maps.Equal(c.state, c.want):
		case c.whole:
			return other
		default:
			result = short
		}
	}
	return result
}

// content renders a column as a cell does.
func content(r *nb.Row, column string) map[string]string {
	if values, ok := r.Sets[column]; ok {
		return pairsOf(values)
	}
	if pairs, ok := r.Maps[column]; ok {
		return pairsOf(pairs)
	}
	return pairsOf(r.Fields[column])
}

// pairsOf renders the value of a column as a cell does. There are none for the default of a column.
func pairsOf(value any) map[string]string {
	out := map[string]string{}
	switch v := value.(type) {
	case string:
		if v != "" {
			out[""] = v
		}
	case int:
		if v != 0 {
			out[""] = strconv.Itoa(v)
		}
	case bool:
		if v {
			out[""] = "true"
		}
	case []string:
		for _, element := range v {
			out[element] = ""
		}
	case map[string]string:
		maps.Copy(out, v)
	}
	return out
}
