package nb

import (
	"reflect"
	"slices"

	"github.com/netloom/netloom/backends"
)

// Diff lists the operations that turn have into want, in an order in which each leaves the database consistent. Columns
// that a wanted row does not name are left alone.
func Diff(want, have Rows) []*Op {
	var ops []*Op
	for uuid, w := range want {
		if h := have[uuid]; h != nil {
			ops = append(ops, Change(w, h)...)
			continue
		}
		ops = append(ops, Create(w))
	}
	for uuid, h := range have {
		if want[uuid] == nil {
			ops = append(ops, Delete(h))
		}
	}
	Sort(ops)
	return ops
}

// Create inserts a wanted row.
func Create(w *Row) *Op {
	o := newOp(w, backends.Create)
	o.After = w.Columns()
	return o
}

// Delete removes an existing row.
func Delete(h *Row) *Op {
	o := newOp(h, backends.Delete)
	o.Before = h.Fields
	return o
}

// Change rewrites the fields that differ, and adds to and removes from the sets and maps that differ.
func Change(w, h *Row) []*Op {
	if w == h {
		return nil
	}
	var ops []*Op
	before, after := backends.Fields{}, backends.Fields{}
	for column, value := range w.Fields {
		if was, ok := h.Fields[column]; !ok || !reflect.DeepEqual(was, value) {
			before[column], after[column] = was, value
		}
	}
	if len(after) > 0 {
		o := newOp(w, backends.Update)
		o.Before, o.After = before, after
		ops = append(ops, o)
	}
	for column, values := range w.Sets {
		add, remove := Difference(values, h.Sets[column]), Difference(h.Sets[column], values)
		if len(add)+len(remove) > 0 {
			ops = append(ops, Mutate(w, column, add, remove))
		}
	}
	for column, pairs := range w.Maps {
		put, cut := Differing(pairs, h.Maps[column]), Differing(h.Maps[column], pairs)
		if len(put)+len(cut) > 0 {
			ops = append(ops, Mutate(w, column, put, cut))
		}
	}
	return ops
}

// Differing returns the pairs of a that b does not have, or has with another value.
func Differing(a, b map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range a {
		if other, ok := b[k]; !ok || other != v {
			out[k] = v
		}
	}
	return out
}

// Mutate adds values to a set column, or pairs to a map column, and removes others. A key in both changes its value.
func Mutate[V []string | map[string]string](r *Row, column string, add, remove V) *Op {
	o := newOp(r, backends.Mutate)
	if len(remove) > 0 {
		o.Before = backends.Fields{column: remove}
	}
	if len(add) > 0 {
		o.After = backends.Fields{column: add}
	}
	return o
}

// Difference lists the values in a that are not in b; both are sorted.
func Difference(a, b []string) []string {
	var out []string
	for _, v := range a {
		if _, ok := slices.BinarySearch(b, v); !ok {
			out = append(out, v)
		}
	}
	return out
}
