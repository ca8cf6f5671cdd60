package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// reports are the changes of rows that the database reported while the transactions of a plan were committed. If a created row
// was reported exactly as written, only its UUID is kept: otherwise the first plan would be in memory twice.
type reports struct {
	created    map[string]bool   // by UUID: the row was reported as it was written
	others     []ovsdb.RowChange // everything else, in order
	incomplete bool              // there were more changes than can be kept
}

// add adds the changes that were reported with the transaction of ops.
func (r *reports) add(ops []*nb.Op, changes []ovsdb.RowChange, complete bool) {
	r.incomplete = r.incomplete || !complete
	creations := map[string]*nb.Op{}
	for _, o := range ops {
		if o.Verb == backends.Create {
			creations[o.UUID] = o
		}
	}
	for i := range changes {
		change := &changes[i]
		if o := creations[change.UUID]; o == nil || change.Event != ovsdb.RowInserted || !writtenBy(o, change) {
			r.others = append(r.others, *change)
			continue
		}
		if r.created == nil {
			r.created = map[string]bool{}
		}
		r.created[change.UUID] = true
	}
}

// writtenBy reports whether an inserted row has the columns that o gave it, and no others.
func writtenBy(o *nb.Op, change *ovsdb.RowChange) bool {
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

// done returns the rows of which nothing remains to be compared: they were reported as ops created them, and nothing else concerns
// them.
func (r *reports) done(ops []*nb.Op) map[string]bool {
	out := maps.Clone(r.created)
	for i := range r.others {
		delete(out, r.others[i].UUID)
	}
	for _, o := range ops {
		if o.Verb != backends.Create {
			delete(out, o.UUID)
		}
	}
	return out
}
