package nbtrace

import (
	"context"
	"fmt"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/pkg/ovsdb"
)

// Selecter reads rows, as ovsdb.Client does.
type Selecter interface {
	Select(ctx context.Context, table string, where []libovsdb.Condition, columns ...string) ([]libovsdb.Row, error)
}

// Load reads the rows that decide on packets from a database, whoever owns them. The tables are read one after another:
// rows that change meanwhile may be seen half.
func Load(ctx context.Context, db Selecter) (Rows, error) {
	var rows Rows
	portNames := map[string]string{}
	for _, t := range []struct {
		table   string
		columns []string
		take    func(libovsdb.Row)
	}{
		{"Logical_Switch_Port", []string{"_uuid", "name"}, func(r libovsdb.Row) {
			portNames[ovsdb.String(r["_uuid"])] = ovsdb.String(r["name"])
		}},
		{"Logical_Switch", []string{"name", "ports", "acls"}, func(r libovsdb.Row) {
			rows.Switches = append(rows.Switches, Switch{
				Name: ovsdb.String(r["name"]), Ports: named(portNames, r["ports"]), ACLs: ovsdb.Strings(r["acls"]),
			})
		}},
		{"Port_Group", []string{"name", "ports", "acls"}, func(r libovsdb.Row) {
			rows.PortGroups = append(rows.PortGroups, PortGroup{
				Name: ovsdb.String(r["name"]), Ports: named(portNames, r["ports"]), ACLs: ovsdb.Strings(r["acls"]),
			})
		}},
		{"Address_Set", []string{"name", "addresses"}, func(r libovsdb.Row) {
			rows.AddressSets = append(rows.AddressSets, AddressSet{
				Name: ovsdb.String(r["name"]), Addresses: ovsdb.Strings(r["addresses"]),
			})
		}},
		{
			"ACL",
			[]string{"_uuid", "direction", "priority", "tier", "match", "action", "name", "options", "external_ids"},
			func(r libovsdb.Row) { rows.ACLs = append(rows.ACLs, aclOf(r)) },
		},
	} {
		found, err := db.Select(ctx, t.table, nil, t.columns...)
		if err != nil {
			return Rows{}, fmt.Errorf("read %s: %w", t.table, err)
		}
		for _, r := range found {
			t.take(r)
		}
	}
	return rows, nil
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
