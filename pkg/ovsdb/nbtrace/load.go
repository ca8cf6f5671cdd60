package nbtrace

import (
	"context"
	"fmt"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/pkg/ovsdb"
)

// Selecter reads rows, as ovsdb.Client does.
type Selecter interface {
	Schema() ovsdb.Schema
	Select(ctx context.Context, table string, where []libovsdb.Condition, columns ...string) ([]libovsdb.Row, error)
}

// together reads several tables at one moment, as ovsdb.Client does.
type together interface {
	SelectTogether(ctx context.Context, reads []ovsdb.Columns) ([][]libovsdb.Row, error)
}

// Load reads the rows that decide on packets from a database, whatever their owner. Tables that an older schema does not
// have are empty. Unless db can read them at one moment, the tables are read one after another: concurrent changes may be
// seen in part.
func Load(ctx context.Context, db Selecter) (Rows, error) {
	var rows Rows
	if at, ok := db.(together); ok {
		all := tables(&rows)
		reads := make([]ovsdb.Columns, len(all))
		for i, t := range all {
			reads[i] = ovsdb.Columns{Table: t.name, Names: t.columns}
		}
		found, err := at.SelectTogether(ctx, reads)
		if err != nil {
			return Rows{}, fmt.Errorf("read the database: %w", err)
		}
		for i, t := range all {
			if !t.late && !db.Schema().Has(t.name) {
				return Rows{}, fmt.Errorf("read the database: no table %s: expected OVN_Northbound", t.name)
			}
			for _, r := range found[i] {
				t.take(r)
			}
		}
		return rows, nil
	}
	for _, t := range tables(&rows) {
		if t.late && !db.Schema().Has(t.name) {
			continue
		}
		found, err := db.Select(ctx, t.name, nil, t.columns...)
		if err != nil {
			return Rows{}, fmt.Errorf("read %s: %w", t.name, err)
		}
		for _, r := range found {
			t.take(r)
		}
	}
	return rows, nil
}

// tables lists all tables, in the order in which they have to be read.
func tables(rows *Rows) []table {
	return slices.Concat(policyTables(rows), balancerTables(rows), otherTables(rows))
}

// table is what is read of a table, and its destination.
type table struct {
	name    string
	columns []string
	take    func(libovsdb.Row)
	late    bool // not every schema has it
}

// policyTables lists the tables for ACLs and their subjects, in the order in which they have to be read.
func policyTables(rows *Rows) []table {
	portNames := map[string]string{}
	uuids := ovsdb.Strings
	return []table{
		{name: "Logical_Switch_Port", columns: []string{"name", "type", "addresses", "dynamic_addresses", "external_ids"}, take: func(r libovsdb.Row) {
			p := Port{Name: ovsdb.String(r["name"]), Type: ovsdb.String(r["type"]), ExternalIDs: ovsdb.StringMap(r["external_ids"])}
			p.Addresses = append(ovsdb.Strings(r["addresses"]), ovsdb.Strings(r["dynamic_addresses"])...)
			rows.Ports = append(rows.Ports, p)
			portNames[ovsdb.String(r["_uuid"])] = p.Name
		}},
		{name: "Logical_Switch", columns: []string{"name", "ports", "acls", "load_balancer", "load_balancer_group"}, take: func(r libovsdb.Row) {
			rows.Switches = append(rows.Switches, Switch{
				Name: ovsdb.String(r["name"]), Ports: named(portNames, r["ports"]), ACLs: uuids(r["acls"]),
				LoadBalancers: uuids(r["load_balancer"]), LoadBalancerGroups: uuids(r["load_balancer_group"]),
			})
		}},
		{name: "Port_Group", columns: []string{"name", "ports", "acls", "external_ids"}, take: func(r libovsdb.Row) {
			rows.PortGroups = append(rows.PortGroups, PortGroup{
				Name: ovsdb.String(r["name"]), Ports: named(portNames, r["ports"]), ACLs: uuids(r["acls"]),
				ExternalIDs: ovsdb.StringMap(r["external_ids"]),
			})
		}},
		{name: "Address_Set", columns: []string{"name", "addresses", "external_ids"}, take: func(r libovsdb.Row) {
			rows.AddressSets = append(rows.AddressSets, AddressSet{
				Name: ovsdb.String(r["name"]), Addresses: ovsdb.Strings(r["addresses"]), ExternalIDs: ovsdb.StringMap(r["external_ids"]),
			})
		}},
		{
			name:    "ACL",
			columns: []string{"direction", "priority", "tier", "match", "action", "name", "options", "external_ids"},
			take:    func(r libovsdb.Row) { rows.ACLs = append(rows.ACLs, aclOf(r)) },
		},
	}
}

// balancerTables lists the tables for load balancers.
func balancerTables(rows *Rows) []table {
	uuids := ovsdb.Strings
	return []table{
		{name: "Logical_Router", columns: []string{"name", "load_balancer", "load_balancer_group"}, take: func(r libovsdb.Row) {
			rows.Routers = append(rows.Routers, Router{
				Name:          ovsdb.String(r["name"]),
				LoadBalancers: uuids(r["load_balancer"]), LoadBalancerGroups: uuids(r["load_balancer_group"]),
			})
		}},
		{name: "Load_Balancer", columns: []string{"name", "vips", "protocol", "options", "external_ids"}, take: func(r libovsdb.Row) {
			rows.LoadBalancers = append(rows.LoadBalancers, LoadBalancer{
				UUID: ovsdb.String(r["_uuid"]), Name: ovsdb.String(r["name"]), VIPs: ovsdb.StringMap(r["vips"]),
				Protocol: ovsdb.String(r["protocol"]), Options: ovsdb.StringMap(r["options"]),
				ExternalIDs: ovsdb.StringMap(r["external_ids"]),
			})
		}},
		{late: true, name: "Load_Balancer_Group", columns: []string{"name", "load_balancer"}, take: func(r libovsdb.Row) {
			rows.LoadBalancerGroups = append(rows.LoadBalancerGroups, LoadBalancerGroup{
				UUID: ovsdb.String(r["_uuid"]), Name: ovsdb.String(r["name"]), LoadBalancers: uuids(r["load_balancer"]),
			})
		}},
		{late: true, name: "Chassis_Template_Var", columns: []string{"chassis", "variables"}, take: func(r libovsdb.Row) {
			rows.TemplateVars = append(rows.TemplateVars, TemplateVars{
				Chassis: ovsdb.String(r["chassis"]), Variables: ovsdb.StringMap(r["variables"]),
			})
		}},
	}
}

// otherTables lists the tables for what neither ACLs nor load balancers have.
func otherTables(rows *Rows) []table {
	return []table{
		{late: true, name: "Logical_Router_Port", columns: []string{"networks"}, take: func(r libovsdb.Row) {
			rows.RouterNetworks = append(rows.RouterNetworks, ovsdb.Strings(r["networks"])...)
		}},
		{late: true, name: "NB_Global", columns: []string{"options"}, take: func(r libovsdb.Row) {
			rows.Options = ovsdb.StringMap(r["options"])
		}},
	}
}

func aclOf(r libovsdb.Row) ACL {
	return ACL{
		UUID: ovsdb.String(r["_uuid"]), Direction: ovsdb.String(r["direction"]), Priority: ovsdb.Int(r["priority"]),
		Tier: ovsdb.Int(r["tier"]), Match: ovsdb.String(r["match"]), Action: ovsdb.String(r["action"]),
		Name: ovsdb.String(r["name"]), Options: ovsdb.StringMap(r["options"]),
		ExternalIDs: ovsdb.StringMap(r["external_ids"]),
	}
}

func named(names map[string]string, uuids any) []string {
	var out []string
	for _, u := range ovsdb.Strings(uuids) {
		if n := names[u]; n != "" {
			out = append(out, n)
		}
	}
	return out
}
