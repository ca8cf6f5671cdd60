package ovn

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// op is one write to one row. What is sent to the database and what people read are both derived from it.
type op struct {
	verb   backends.Verb
	table  string
	uuid   string
	name   string
	origin string
	unit   string // the row's unit
	group  int    // see backends.Op
	// before and after are columns as in backends.Op, with the UUIDs of rows that the row refers to. A mutation has one
	// column.
	before, after backends.Fields
	// unused limits a deletion to a row whose template variables are gone: it is no fault when the row stays.
	unused bool
}

// opOn is a write to a row that does nothing yet.
func opOn(r *row, verb backends.Verb) *op {
	return &op{verb: verb, table: r.table, uuid: r.uuid, name: r.name, origin: r.origin, unit: r.unit}
}

// opsOf lists the writes from which the operations of a plan were derived.
func opsOf(p *backends.Plan) ([]*op, error) {
	out := make([]*op, len(p.Ops))
	for i := range p.Ops {
		shown, ok := &p.Ops[i], false
		if out[i], ok = shown.Native.(*op); !ok {
			return nil, fmt.Errorf("%s %s %s: not an op of this backend", shown.Verb, shown.Kind, shown.Name)
		}
	}
	return out, nil
}

// show is o for people, with names in place of the UUIDs to which the row refers. Name returns the UUID itself where the
// referenced row has no name.
func (o *op) show(name func(table, column, uuid string) string) backends.Op {
	return backends.Op{
		Verb: o.verb, Kind: o.table, Name: o.name, Group: o.group, Origin: o.origin, Native: o,
		Before: o.named(o.before, name), After: o.named(o.after, name),
	}
}

// named is columns with names in place of UUIDs.
func (o *op) named(columns backends.Fields, name func(table, column, uuid string) string) backends.Fields {
	out := maps.Clone(columns)
	for column, value := range columns {
		uuids, ok := value.([]string)
		if !ok || !refSet(column) {
			continue
		}
		names := make([]string, len(uuids))
		for i, uuid := range uuids {
			names[i] = name(o.table, column, uuid)
		}
		slices.Sort(names)
		out[column] = names
	}
	return out
}

// operation is what o sends to the database.
func (o *op) operation() libovsdb.Operation {
	switch o.verb {
	case backends.Create:
		return ovsdb.Insert(o.table, o.uuid, encode(o.table, o.after))
	case backends.Update:
		return ovsdb.Update(o.table, o.uuid, encode(o.table, o.after))
	case backends.Delete:
		native := ovsdb.Delete(o.table, o.uuid)
		if o.unused {
			native.Where = append(native.Where, libovsdb.Condition{
				Column: columnVariables, Function: libovsdb.ConditionEqual, Value: ovsdb.Map(nil),
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
func (o *op) mutation() libovsdb.Operation {
	for _, column := range o.columns() {
		put, isMap := o.after[column].(map[string]string)
		cut, wasMap := o.before[column].(map[string]string)
		if isMap || wasMap {
			return ovsdb.MutateMap(o.table, o.uuid, column, put, slices.Collect(maps.Keys(cut)))
		}
		add, _ := o.after[column].([]string)
		remove, _ := o.before[column].([]string)
		if refSet(column) {
			return ovsdb.MutateSet(o.table, o.uuid, column, references(add), references(remove))
		}
		return ovsdb.MutateSet(o.table, o.uuid, column, add, remove)
	}
	return libovsdb.Operation{}
}

func references(uuids []string) []libovsdb.UUID {
	out := make([]libovsdb.UUID, len(uuids))
	for i, u := range uuids {
		out[i] = libovsdb.UUID{GoUUID: u}
	}
	return out
}

// columns lists the columns that o changes, each once, in order.
func (o *op) columns() []string {
	var names []string
	for _, f := range []backends.Fields{o.before, o.after} {
		for k := range f {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sortOps puts ops into a safe order: what is referred to is made before what refers to it, and removed after it.
func sortOps(ops []*op) {
	slices.SortFunc(ops, func(a, b *op) int {
		if c := cmp.Or(
			cmp.Compare(a.phase(), b.phase()), cmp.Compare(a.name, b.name), cmp.Compare(a.verb, b.verb),
			cmp.Compare(a.uuid, b.uuid),
		); c != 0 {
			return c
		}
		return slices.Compare(a.columns(), b.columns())
	})
}

// phase orders ops by what they touch: creations from the referred to the referring, changes, deletions the other way.
func (o *op) phase() int {
	order := slices.Index(tables(), o.table)
	switch o.verb {
	case backends.Create:
		return order
	case backends.Update, backends.Mutate, backends.Reload:
		return len(tables())
	case backends.Delete:
		return 2*len(tables()) - order
	default:
		return 0
	}
}
