package nb

import (
	"maps"
	"reflect"
	"slices"

	"github.com/netloom/netloom/backends"
)

// Row is a native row of ours, wanted or read back.
type Row struct {
	Table string
	UUID  string
	Name  string // for display; the name column if the table has one that is an index
	// Fields are the columns with one value or a map: string, int, bool, map[string]string.
	Fields backends.Fields
	// Sets are the columns with many values, sorted. Large ones change by what is added and removed.
	Sets map[string][]string
	// Maps are the columns with many pairs, which change key by key.
	Maps   map[string]map[string]string
	Origin string // the source objects, for display
	Unit   string // for an ACL and its port group, the group's name, since they are written together; else ""
}

// Columns returns all columns of a row.
func (r *Row) Columns() backends.Fields {
	out := backends.Fields{}
	maps.Copy(out, r.Fields)
	for column, values := range r.Sets {
		out[column] = values
	}
	for column, pairs := range r.Maps {
		out[column] = pairs
	}
	return out
}

// Set returns the values of a set column; nil for no row.
func (r *Row) Set(column string) []string {
	if r == nil {
		return nil
	}
	return r.Sets[column]
}

// ExternalIDs returns the external_ids of a row; nil if there are none.
func (r *Row) ExternalIDs() map[string]string {
	if ids := r.Maps[ColumnExternalIDs]; ids != nil {
		return ids
	}
	ids, _ := r.Fields[ColumnExternalIDs].(map[string]string)
	return ids
}

// Owner returns the owner whose mark a row has, "" for none.
func (r *Row) Owner() string { return r.ExternalIDs()[KeyOwner] }

// Match returns the match of an ACL.
func (r *Row) Match() string {
	match, _ := r.Fields["match"].(string)
	return match
}

// Share replaces values of r with equal ones of another row, so that both take memory only once. Neither may be changed in
// place after that.
func (r *Row) Share(with *Row) {
	for column, value := range r.Fields {
		if other := with.Fields[column]; reflect.DeepEqual(value, other) {
			r.Fields[column] = other
		}
	}
	for column, values := range r.Sets {
		others := with.Sets[column]
		if slices.Equal(values, others) {
			r.Sets[column] = others
			continue
		}
		for i, value := range values {
			if at, ok := slices.BinarySearch(others, value); ok {
				values[i] = others[at]
			}
		}
	}
	for column, pairs := range r.Maps {
		if others := with.Maps[column]; maps.Equal(pairs, others) {
			r.Maps[column] = others
		}
	}
}

// Rows are rows by UUID.
type Rows map[string]*Row

// Put adds rows of a list.
func (rows Rows) Put(list ...*Row) {
	for _, r := range list {
		rows[r.UUID] = r
	}
}

// Among returns the entries of m whose keys are in keys. The cost depends on the smaller of them.
func Among[V any](m map[string]V, keys map[string]bool) map[string]V {
	out := map[string]V{}
	if len(m) < len(keys) {
		for k, v := range m {
			if keys[k] {
				out[k] = v
			}
		}
		return out
	}
	for k := range keys {
		if v, ok := m[k]; ok {
			out[k] = v
		}
	}
	return out
}

// Names returns the display names of rows, by UUID.
func Names(lists ...Rows) map[string]string {
	out := map[string]string{}
	for _, rows := range lists {
		for uuid, r := range rows {
			out[uuid] = r.Name
		}
	}
	return out
}

// RefersToRows reports whether the values of a set column are UUIDs of other rows.
func RefersToRows(column string) bool {
	switch column {
	case "ports", "acls", "bands", ColumnLoadBalancer, ColumnLoadBalancerGroup:
		return true
	default:
		return false
	}
}
