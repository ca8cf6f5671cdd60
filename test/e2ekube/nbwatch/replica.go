package nbwatch

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// ReplicaTables are the tables of a Replica.
func ReplicaTables() []string {
	return []string{"ACL", "Address_Set", "Logical_Switch", "Logical_Switch_Port", "Port_Group"}
}

// Replica is a copy of the rows that decide on packets, built from changes. Make it with NewReplica before there are any
// rows. It is not safe for concurrent use.
type Replica struct {
	tables map[string]map[string]*copied // by table and UUID
}

// copied is a row: columns with one value, and those with a set of them.
type copied struct {
	values  map[string]string
	sets    map[string]map[string]bool
	options map[string]string
	ids     map[string]string
}

// NewReplica makes a copy of an empty database.
func NewReplica() *Replica {
	return &Replica{tables: map[string]map[string]*copied{}}
}

// Apply applies a change. The copy is a committed state after each change with Last.
func (r *Replica) Apply(c Change) {
	table := r.tables[c.Table]
	if table == nil {
		table = map[string]*copied{}
		r.tables[c.Table] = table
	}
	if c.Verb == Deleted {
		delete(table, c.UUID)
		return
	}
	if table[c.UUID] == nil {
		table[c.UUID] = &copied{values: map[string]string{}, sets: map[string]map[string]bool{}, options: map[string]string{}}
	}
	o := table[c.UUID]
	o.ids = c.ExternalIDs
	for column, raw := range c.row {
		switch column {
		case "acls", "addresses", "ports":
			o.toggle(column, members(raw))
		case "options":
			o.mix(c.pairs(column))
		case "external_ids":
		default:
			o.values[column] = scalar(raw)
		}
	}
}

// toggle applies the changes of a set: existing members are removed, others added.
func (o *copied) toggle(column string, changed []string) {
	set := o.sets[column]
	if set == nil {
		set = map[string]bool{}
		o.sets[column] = set
	}
	for _, m := range changed {
		if set[m] {
			delete(set, m)
		} else {
			set[m] = true
		}
	}
}

// mix applies the changes of a map: pairs that exist unchanged are removed, others set.
func (o *copied) mix(changed map[string]string) {
	for k, v := range changed {
		if had, ok := o.options[k]; ok && had == v {
			delete(o.options, k)
		} else {
			o.options[k] = v
		}
	}
}

// members are the strings or UUIDs of a set; a set of one may be encoded as the member.
func members(raw json.RawMessage) []string {
	all := atoms(raw, "set")
	if all == nil {
		all = []json.RawMessage{raw}
	}
	var out []string
	for _, atom := range all {
		if text := scalar(atom); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// scalar is a string, a number or a UUID; "" for anything else.
func scalar(raw json.RawMessage) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.Itoa(int(v))
	case []any:
		if len(v) == 2 && v[0] == "uuid" {
			text, _ := v[1].(string)
			return text
		}
	}
	return ""
}

// Rows are the rows of the copy that decide on packets.
func (r *Replica) Rows() nbtrace.Rows {
	var rows nbtrace.Rows
	for uuid, o := range r.tables["ACL"] {
		priority, _ := strconv.Atoi(o.values["priority"])
		tier, _ := strconv.Atoi(o.values["tier"])
		rows.ACLs = append(rows.ACLs, nbtrace.ACL{
			UUID: uuid, Direction: o.values["direction"], Priority: priority, Tier: tier, Match: o.values["match"],
			Action: o.values["action"], Name: o.values["name"], Options: maps.Clone(o.options), ExternalIDs: o.ids,
		})
	}
	for _, o := range r.tables["Address_Set"] {
		rows.AddressSets = append(rows.AddressSets, nbtrace.AddressSet{Name: o.values["name"], Addresses: o.list("addresses")})
	}
	for _, o := range r.tables["Port_Group"] {
		rows.PortGroups = append(rows.PortGroups, nbtrace.PortGroup{
			Name: o.values["name"], Ports: r.portNames(o), ACLs: o.list("acls"),
		})
	}
	for _, o := range r.tables["Logical_Switch"] {
		rows.Switches = append(rows.Switches, nbtrace.Switch{Name: o.values["name"], Ports: r.portNames(o), ACLs: o.list("acls")})
	}
	for _, o := range r.tables["Logical_Switch_Port"] {
		rows.Ports = append(rows.Ports, nbtrace.Port{Name: o.values["name"], Addresses: o.list("addresses")})
	}
	return rows
}

func (o *copied) list(column string) []string { return slices.Sorted(maps.Keys(o.sets[column])) }

// portNames are the names of the logical switch ports of a row.
func (r *Replica) portNames(of *copied) []string {
	var out []string
	for _, uuid := range of.list("ports") {
		if p := r.tables["Logical_Switch_Port"][uuid]; p != nil {
			out = append(out, p.values["name"])
		}
	}
	return out
}
