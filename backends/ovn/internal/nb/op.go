package nb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Op is one write to one row. The operation for the database and the text for display are both derived from it.
type Op struct {
	Verb   backends.Verb
	Table  string
	UUID   string
	Name   string
	Origin string
	Unit   string // the row's unit
	Group  int    // see backends.Op
	// Before and After are columns as in backends.Op, with the UUIDs of rows that the row refers to. A mutation has one
	// column.
	Before, After backends.Fields
	// Unused limits a deletion to a row without template variables: it is not an error if the row stays.
	Unused bool
}

// newOp returns a write to a row that does nothing yet.
func newOp(r *Row, verb backends.Verb) *Op {
	return &Op{Verb: verb, Table: r.Table, UUID: r.UUID, Name: r.Name, Origin: r.Origin, Unit: r.Unit}
}

// OpsOf lists the writes from which the operations of a plan were derived.
func OpsOf(p *backends.Plan) ([]*Op, error) {
	out := make([]*Op, len(p.Ops))
	for i := range p.Ops {
		shown, ok := &p.Ops[i], false
		if out[i], ok = shown.Native.(*Op); !ok {
			return nil, fmt.Errorf("%s %s %s: not an op of this backend", shown.Verb, shown.Kind, shown.Name)
		}
	}
	return out, nil
}

// Show returns o for display, with names in place of the UUIDs to which the row refers. Name returns the UUID itself if
// the referenced row has no name.
func (o *Op) Show(name func(table, column, uuid string) string) backends.Op {
	return backends.Op{
		Verb: o.Verb, Kind: o.Table, Name: o.Name, Group: o.Group, Origin: o.Origin, Native: o,
		Before: o.named(o.Before, name), After: o.named(o.After, name),
	}
}

// named returns columns with names in place of UUIDs.
func (o *Op) named(columns backends.Fields, name func(table, column, uuid string) string) backends.Fields {
	out := maps.Clone(columns)
	for column, value := range columns {
		uuids, ok := value.([]string)
		if !ok || !RefersToRows(column) {
			continue
		}
		names := make([]string, len(uuids))
		for i, uuid := range uuids {
			names[i] = name(o.Table, column, uuid)
		}
		slices.Sort(names)
		out[column] = names
	}
	return out
}

// Operation returns what o sends to the database.
func (o *Op) Operation() libovsdb.Operation {
	switch o.Verb {
	case backends.Create:
		return ovsdb.Insert(o.Table, o.UUID, encode(o.Table, o.After))
	case backends.Update:
		return ovsdb.Update(o.Table, o.UUID, encode(o.Table, o.After))
	case backends.Delete:
		native := ovsdb.Delete(o.Table, o.UUID)
		if o.Unused {
			native.Where = append(native.Where, libovsdb.Condition{
				Column: ColumnVariables, Function: libovsdb.ConditionEqual, Value: ovsdb.Map(nil),
			})
		}
		return native
	case backends.Mutate:
		return o.mutation()
	case backends.Reload:
	}
	return libovsdb.Operation{}
}

// mutation adds to and removes from the one column of o.
func (o *Op) mutation() libovsdb.Operation {
	columns := o.columns()
	if len(columns) == 0 {
		return libovsdb.Operation{}
	}
	column := columns[0]
	put, isMap := o.After[column].(map[string]string)
	cut, wasMap := o.Before[column].(map[string]string)
	if isMap || wasMap {
		return ovsdb.MutateMap(o.Table, o.UUID, column, put, slices.Collect(maps.Keys(cut)))
	}
	add, _ := o.After[column].([]string)
	remove, _ := o.Before[column].([]string)
	if RefersToRows(column) {
		return ovsdb.MutateSet(o.Table, o.UUID, column, references(add), references(remove))
	}
	return ovsdb.MutateSet(o.Table, o.UUID, column, add, remove)
}

func references(uuids []string) []libovsdb.UUID {
	out := make([]libovsdb.UUID, len(uuids))
	for i, u := range uuids {
		out[i] = libovsdb.UUID{GoUUID: u}
	}
	return out
}

// columns lists the columns that o changes, each once, in order.
func (o *Op) columns() []string {
	var names []string
	for _, f := range []backends.Fields{o.Before, o.After} {
		for k := range f {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Sort puts ops into a safe order: a row is created before those that refer to it, and removed after them.
func Sort(ops []*Op) {
	type placed struct {
		phase int
		op    *Op
	}
	tables, list := Tables(), make([]placed, len(ops))
	for i, o := range ops {
		list[i] = placed{o.phase(tables), o}
	}
	slices.SortFunc(list, func(x, y placed) int {
		a, b := x.op, y.op
		if c := cmp.Or(
			cmp.Compare(x.phase, y.phase), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.UUID, b.UUID),
		); c != 0 {
			return c
		}
		return slices.Compare(a.columns(), b.columns())
	})
	for i := range list {
		ops[i] = list[i].op
	}
}

// phase orders ops by what they do: creations, referenced rows first; changes; deletions, referring rows first. It is passed the
// result of Tables.
func (o *Op) phase(tables []string) int {
	order := slices.Index(tables, o.Table)
	switch o.Verb {
	case backends.Create:
		return order
	case backends.Update, backends.Mutate, backends.Reload:
		return len(tables)
	case backends.Delete:
		return 2*len(tables) - order
	default:
		return 0
	}
}
