package ovn

import (
	"reflect"
	"slices"

	"github.com/netloom/netloom/backends"
)

// diffRows lists the operations that make have into want, in an order in which each leaves the database whole. Columns
// that a wanted row does not name are left alone.
func diffRows(want, have map[string]*row) []*op {
	var ops []*op
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

func createRow(w *row) *op {
	o := opOn(w, backends.Create)
	o.after = backends.Fields{}
	for k, v := range w.fields {
		o.after[k] = v
	}
	for k, v := range w.sets {
		o.after[k] = v
	}
	for k, v := range w.maps {
		o.after[k] = v
	}
	return o
}

func deleteRow(h *row) *op {
	o := opOn(h, backends.Delete)
	o.before = h.fields
	return o
}

// changeRow rewrites the fields that differ, and adds to and removes from the sets and maps that differ.
func changeRow(w, h *row) []*op {
	var ops []*op
	before, after := backends.Fields{}, backends.Fields{}
	for column, value := range w.fields {
		if was, ok := h.fields[column]; !ok || !reflect.DeepEqual(was, value) {
			before[column], after[column] = was, value
		}
	}
	if len(after) > 0 {
		o := opOn(w, backends.Update)
		o.before, o.after = before, after
		ops = append(ops, o)
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
func mutatePairs(r *row, column string, put, cut map[string]string) *op {
	o := opOn(r, backends.Mutate)
	if len(cut) > 0 {
		o.before = backends.Fields{column: cut}
	}
	if len(put) > 0 {
		o.after = backends.Fields{column: put}
	}
	return o
}

// mutateRow adds values to a set column and removes others.
func mutateRow(r *row, column string, add, remove []string) *op {
	o := opOn(r, backends.Mutate)
	if len(remove) > 0 {
		o.before = backends.Fields{column: remove}
	}
	if len(add) > 0 {
		o.after = backends.Fields{column: add}
	}
	return o
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
