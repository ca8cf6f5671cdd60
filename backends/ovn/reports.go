package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// reports are the changes of rows that the database reported while the transactions of a plan were committed. If a created row, or a
// mutated set, was first reported exactly as written, only the op is kept: otherwise the first plan would be in memory twice, and each
// part of a large set would be compared element by element.
type reports struct {
	written    map[string]*nb.Op // by UUID of the row
	others     []ovsdb.RowChange // everything else, in order
	mixed      map[string]bool   // the rows that those concern
	incomplete bool              // there were more changes than can be kept
}

// add adds the changes that were reported with the transaction of ops.
func (r *reports) add(ops []*nb.Op, changes []ovsdb.RowChange, complete bool) {
	r.incomplete = r.incomplete || !complete
	only := map[string]*nb.Op{} // by row; nil for several
	for _, o := range ops {
		if _, more := only[o.UUID]; more {
			only[o.UUID] = nil
		} else {
			only[o.UUID] = o
		}
	}
	if r.written == nil {
		r.written, r.mixed = map[string]*nb.Op{}, map[string]bool{}
	}
	for i := range changes {
		change := &changes[i]
		o := only[change.UUID]
		if o == nil || r.mixed[change.UUID] || r.written[change.UUID] != nil || !writtenBy(o, change) {
			r.others = append(r.others, *change)
			r.mixed[change.UUID] = true
			continue
		}
		r.written[change.UUID] = o
	}
}

// writtenBy reports whether a change is just what o writes.
func writtenBy(o *nb.Op, change *ovsdb.RowChange) bool {
	switch o.Verb {
	case backends.Create:
		return change.Event == ovsdb.RowInserted && createdBy(o, change)
	case backends.Mutate:
		return change.Event == ovsdb.RowUpdated && mutatedBy(o, change)
	case backends.Update, backends.Delete, backends.Reload:
	}
	return false
}

// createdBy reports whether an inserted row has the columns that o gave it, and no others.
func createdBy(o *nb.Op, change *ovsdb.RowChange) bool {
	row := nb.Decode(o.Table, change.Columns)
	for column := range nb.ColumnsOf(o.Table) {
		if values, ok := o.After[column].([]string); ok {
			if !slices.Equal(values, row.Sets[column]) {
				return false
			}
		} else if !maps.Equal(pairsOf(o.After[column]), content(row, column)) {
			return false
		}
	}
	return true
}

// mutatedBy reports whether a changed row differs by the elements that o adds to the set in its column and removes from it, and by nothing
// else.
func mutatedBy(o *nb.Op, change *ovsdb.RowChange) bool {
	var wanted []string
	for _, fields := range []backends.Fields{o.Before, o.After} {
		for column, value := range fields {
			elements, set := value.([]string)
			if _, changed := change.Columns[column]; !set || !changed || len(change.Columns) > 1 {
				return false
			}
			wanted = append(wanted, elements...)
		}
	}
	var reported []string
	for _, value := range change.Columns {
		reported = ovsdb.Strings(value)
	}
	slices.Sort(wanted)
	slices.Sort(reported)
	return slices.Equal(wanted, reported)
}

// done returns the rows of which nothing remains to be compared: they were reported as the only op that concerns them wrote them, and
// nothing else was.
func (r *reports) done(ops []*nb.Op) map[string]bool {
	out := make(map[string]bool, len(r.written))
	for uuid := range r.written {
		if !r.mixed[uuid] {
			out[uuid] = true
		}
	}
	for _, o := range ops {
		if r.written[o.UUID] != o {
			delete(out, o.UUID)
		}
	}
	return out
}
