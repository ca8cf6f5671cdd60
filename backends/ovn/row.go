package ovn

import (
	"github.com/netloom/netloom/backends"
)

// row is a native row of ours, wanted or read back.
type row struct {
	table string
	uuid  string
	name  string // for people; the name column where the table has one that is an index
	// fields are the columns with one value or a map: string, int, bool, map[string]string.
	fields backends.Fields
	// sets are the columns with many values, sorted. Large ones change by what is added and removed.
	sets map[string][]string
	// maps are the columns with many pairs, which change key by key.
	maps   map[string]map[string]string
	origin string // the source objects, for people
	unit   string // for an ACL and its port group the group's name: they are written together; else ""
}

// refSet says whether the values of a set column are UUIDs of other rows.
func refSet(column string) bool {
	switch column {
	case "ports", "acls", "bands", columnBalancer, columnBalancers:
		return true
	default:
		return false
	}
}
