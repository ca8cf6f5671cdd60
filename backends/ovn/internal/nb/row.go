package nb

import (
	"github.com/netloom/netloom/backends"
)

// Row is a native row of ours, wanted or read back.
type Row struct {
	Table string
	UUID  string
	Name  string // for people; the name column where the table has one that is an index
	// fields are the columns with one value or a map: string, int, bool, map[string]string.
	Fields backends.Fields
	// sets are the columns with many values, sorted. Large ones change by what is added and removed.
	Sets map[string][]string
	// maps are the columns with many pairs, which change key by key.
	Maps   map[string]map[string]string
	Origin string // the source objects, for people
	Unit   string // for an ACL and its port group the group's name: they are written together; else ""
}

// RefersToRows says whether the values of a set column are UUIDs of other rows.
func RefersToRows(column string) bool {
	switch column {
	case "ports", "acls", "bands", ColumnBalancer, ColumnBalancers:
		return true
	default:
		return false
	}
}
