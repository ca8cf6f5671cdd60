package ovntest

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// harm is one kind of damage: what it does to a row of its table, nil where the row does not lend itself to it.
type harm struct {
	what  string
	table string
	ops   func(uuid string, r libovsdb.Row) []libovsdb.Operation
}

func harms() []harm {
	update := func(table, column string, value any) func(string, libovsdb.Row) []libovsdb.Operation {
		return func(uuid string, _ libovsdb.Row) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Update(table, uuid, libovsdb.Row{column: value})}
		}
	}
	return []harm{
		{"an address set gains an address", "Address_Set", func(uuid string, _ libovsdb.Row) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.MutateSet("Address_Set", uuid, "addresses", []string{"192.0.2.66"}, nil)}
		}},
		{"an address set loses its addresses", "Address_Set", func(uuid string, r libovsdb.Row) []libovsdb.Operation {
			if len(ovsdb.Strings(r["addresses"])) == 0 {
				return nil
			}
			return []libovsdb.Operation{ovsdb.Update("Address_Set", uuid, libovsdb.Row{"addresses": ovsdb.Set[string](nil)})}
		}},
		{"an address set is deleted", "Address_Set", func(uuid string, _ libovsdb.Row) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Delete("Address_Set", uuid)}
		}},
		{"an address set is renamed in its external_ids", "Address_Set", func(uuid string, r libovsdb.Row) []libovsdb.Operation {
			ids := ovsdb.StringMap(r["external_ids"])
			ids[ovn.KeyTitle] = "by hand"
			return []libovsdb.Operation{ovsdb.Update("Address_Set", uuid, libovsdb.Row{"external_ids": ovsdb.Map(ids)})}
		}},
		{"an address set loses the mark of its owner", "Address_Set", func(uuid string, _ libovsdb.Row) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Update("Address_Set", uuid, libovsdb.Row{"external_ids": ovsdb.Map(nil)})}
		}},
		{"a group loses its ports", "Port_Group", func(uuid string, r libovsdb.Row) []libovsdb.Operation {
			if len(ovsdb.Strings(r["ports"])) == 0 {
				return nil
			}
			return []libovsdb.Operation{ovsdb.Update("Port_Group", uuid, libovsdb.Row{"ports": ovsdb.UUIDs(nil)})}
		}},
		{"an ACL is opened", "ACL", update("ACL", "action", "allow")},
		{"an ACL matches everything", "ACL", update("ACL", "match", "ip")},
		{"an ACL has another priority", "ACL", update("ACL", "priority", 7)},
		{"an ACL is logged", "ACL", func(uuid string, r libovsdb.Row) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Update("ACL", uuid, libovsdb.Row{"log": !ovsdb.Bool(r["log"])})}
		}},
	}
}

// Damage does the n-th harm to the first row of owner that it fits. A kind that concerns several rows at once, as the
// loss of an ACL from its group, is done by the tests of the backend itself.
func (g *Target) Damage(t testing.TB, owner string, n int) (backendtest.Damage, bool) {
	all := harms()
	if n >= len(all) {
		return backendtest.Damage{}, false
	}
	h := all[n]
	d := backendtest.Damage{What: h.what}
	for _, r := range g.rows(t, h.table) {
		if ovsdb.StringMap(r["external_ids"])[ovn.KeyOwner] != owner {
			continue
		}
		ops := h.ops(ovsdb.String(r["_uuid"]), r)
		if len(ops) == 0 {
			continue
		}
		g.transact(t, ops...)
		d.Names = []string{ovsdb.String(r["name"])}
		break
	}
	return d, true
}
