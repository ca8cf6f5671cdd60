package ovn

import (
	"cmp"
	"reflect"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// diffRows lists the operations that make have into want, in an order in which each leaves the database whole. Columns
// that a wanted row does not name are left alone.
func diffRows(want, have map[string]*row) []backends.Op {
	var ops []backends.Op
	for uuid, w := range want {
		if h := have[uuid]; h != nil {
			ops = append(ops, changeRow(w, h)...)
			continue
		}
		ops = append(ops, createRow(w))
	}
	for uuid, h := range have {
		if want[uuid] == nil {
			ops = append(ops, deleteRow(h))
		}
	}
	sortOps(ops)
	return ops
}

func createRow(w *row) backends.Op {
	after := backends.Fields{}
	for k, v := range w.fields {
		after[k] = v
	}
	for k, v := range w.sets {
		after[k] = v
	}
	for k, v := range w.maps {
		after[k] = v
	}
	return backends.Op{
		Verb: backends.Create, Kind: w.table, Name: w.name, After: after, Origin: w.origin,
		Native: nativeOp{uuid: w.uuid, unit: w.unit, op: ovsdb.Insert(w.table, w.uuid, encode(w.table, after))},
	}
}

func deleteRow(h *row) backends.Op {
	return backends.Op{
		Verb: backends.Delete, Kind: h.table, Name: h.name, Before: h.fields, Origin: h.origin,
		Native: nativeOp{uuid: h.uuid, unit: h.unit, op: ovsdb.Delete(h.table, h.uuid)},
	}
}

// changeRow rewrites the fields that differ, and adds to and removes from the sets and maps that differ.
func changeRow(w, h *row) []backends.Op {
	var ops []backends.Op
	before, after := backends.Fields{}, backends.Fields{}
	for column, value := range w.fields {
		if was, ok := h.fields[column]; !ok || !reflect.DeepEqual(was, value) {
			before[column], after[column] = was, value
		}
	}
	if len(after) > 0 {
		ops = append(ops, backends.Op{
			Verb: backends.Update, Kind: w.table, Name: w.name, Before: before, After: after, Origin: w.origin,
			Native: nativeOp{uuid: w.uuid, unit: w.unit, op: ovsdb.Update(w.table, w.uuid, encode(w.table, after))},
		})
	}
	for column, values := range w.sets {
		add, remove := difference(values, h.sets[column]), difference(h.sets[column], values)
		if len(add)+len(remove) > 0 {
			ops = append(ops, mutateRow(w, column, add, remove))
		}
	}
	for column, pairs := range w.maps {
		put, cut := differing(pairs, h.maps[column]), differing(h.maps[column], pairs)
		if len(put)+len(cut) > 0 {
			ops = append(ops, mutatePairs(w, column, put, cut))
		}
	}
	return ops
}

// differing are the pairs of a that b does not have, or has with another value.
func differing(a, b map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range a {
		if other, ok := b[k]; !ok || other != v {
			out[k] = v
		}
	}
	return out
}

// mutatePairs puts pairs into a map column and cuts others out of it. A key in both changes its value.
func mutatePairs(r *row, column string, put, cut map[string]string) backends.Op {
	op := backends.Op{Verb: backends.Mutate, Kind: r.table, Name: r.name, Origin: r.origin}
	if len(cut) > 0 {
		op.Before = backends.Fields{column: cut}
	}
	if len(put) > 0 {
		op.After = backends.Fields{column: put}
	}
	var gone []string
	for k := range cut {
		if _, stays := put[k]; !stays {
			gone = append(gone, k)
		}
	}
	slices.Sort(gone)
	op.Native = nativeOp{uuid: r.uuid, unit: r.unit, op: ovsdb.MutateMap(r.table, r.uuid, column, put, gone)}
	return op
}

// mutateRow adds values to a set column and removes others.
func mutateRow(r *row, column string, add, remove []string) backends.Op {
	op := backends.Op{Verb: backends.Mutate, Kind: r.table, Name: r.name, Origin: r.origin}
	if len(remove) > 0 {
		op.Before = backends.Fields{column: remove}
	}
	if len(add) > 0 {
		op.After = backends.Fields{column: add}
	}
	native := nativeOp{uuid: r.uuid, unit: r.unit}
	if refSet(column) {
		native.op = ovsdb.MutateSet(r.table, r.uuid, column, references(add), references(remove))
	} else {
		native.op = ovsdb.MutateSet(r.table, r.uuid, column, add, remove)
	}
	op.Native = native
	return op
}

func references(uuids []string) []libovsdb.UUID {
	out := make([]libovsdb.UUID, len(uuids))
	for i, u := range uuids {
		out[i] = libovsdb.UUID{GoUUID: u}
	}
	return out
}

// difference lists what is in a and not in b; both are sorted.
func difference(a, b []string) []string {
	var out []string
	for _, v := range a {
		if _, ok := slices.BinarySearch(b, v); !ok {
			out = append(out, v)
		}
	}
	return out
}

// nativeOp is what Apply sends for an op.
type nativeOp struct {
	uuid string
	unit string // the row's unit
	op   libovsdb.Operation
	// maybe says that it is no fault when nothing was there to be done.
	maybe bool
}

// sortOps puts ops into a safe order: what is referred to is made before what refers to it, and removed after it.
func sortOps(ops []backends.Op) {
	slices.SortFunc(ops, func(a, b backends.Op) int {
		if c := cmp.Or(
			cmp.Compare(phase(a), phase(b)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb),
			cmp.Compare(nativeOf(a).uuid, nativeOf(b).uuid),
		); c != 0 {
			return c
		}
		return slices.Compare(columnNames(a), columnNames(b))
	})
}

// nativeOf is what Apply sends for an op that this package made.
func nativeOf(op backends.Op) nativeOp { return op.Native.(nativeOp) } //nolint:forcetypeassert // only ops of ours are asked

func columnNames(op backends.Op) []string {
	var names []string
	for _, f := range []backends.Fields{op.Before, op.After} {
		for k := range f {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return names
}

// phase orders ops by what they touch: creations from the referred to the referring, changes, deletions the other way.
func phase(op backends.Op) int {
	order := slices.Index(tables(), op.Kind)
	switch op.Verb {
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
