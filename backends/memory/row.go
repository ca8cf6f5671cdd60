package memory

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
)

// Row is one native object of the target. Its fields are strings, booleans, integers, sorted []string and
// map[string]string.
type Row struct {
	Owner  string // "" if it has no owner
	Kind   string
	Name   string
	Fields backends.Fields
}

// id identifies a row among those of one owner.
type id struct{ kind, name string }

func (r Row) id() id { return id{r.Kind, r.Name} }

func compareIDs(a, b id) int {
	return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.name, b.name))
}

// clone copies r so deeply that the copy's fields can be changed.
func (r Row) clone() Row {
	fields := make(backends.Fields, len(r.Fields))
	for k, v := range r.Fields {
		switch many := v.(type) {
		case []string:
			v = slices.Clone(many)
		case map[string]string:
			v = maps.Clone(many)
		}
		fields[k] = v
	}
	r.Fields = fields
	return r
}

// text returns the string in a field, "" when there is none.
func (r Row) text(field string) string {
	s, _ := r.Fields[field].(string)
	return s
}

// list returns the strings in a field, nil when there are none.
func (r Row) list(field string) []string {
	l, _ := r.Fields[field].([]string)
	return l
}

// entries returns the map in a field, nil when there is none.
func (r Row) entries(field string) map[string]string {
	m, _ := r.Fields[field].(map[string]string)
	return m
}

// has reports whether the sorted list in a field holds value.
func (r Row) has(field, value string) bool {
	_, ok := slices.BinarySearch(r.list(field), value)
	return ok
}

// String formats r on one line, fields in order.
func (r Row) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", r.Kind, r.Name)
	for _, k := range slices.Sorted(maps.Keys(r.Fields)) {
		fmt.Fprintf(&b, " %s=%v", k, r.Fields[k])
	}
	return b.String()
}

// equal compares two values of a field.
func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// replace returns m without the keys of gone and with the entries of come.
func replace(m, gone, come map[string]string) map[string]string {
	next := maps.Clone(m)
	for k := range gone {
		delete(next, k)
	}
	maps.Copy(next, come)
	return next
}

// edit returns list without gone and with come. List and come are sorted, and so is the result.
func edit(list, gone, come []string) []string {
	next := slices.Clone(list)
	for _, v := range gone {
		if i, ok := slices.BinarySearch(next, v); ok {
			next = slices.Delete(next, i, i+1)
		}
	}
	for _, v := range come {
		if i, ok := slices.BinarySearch(next, v); !ok {
			next = slices.Insert(next, i, v)
		}
	}
	return next
}
