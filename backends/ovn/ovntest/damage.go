package ovntest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// harm is one kind of damage: what it does to a row of its table, nil if it cannot change the row.
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
		{"a load balancer is deleted", "Load_Balancer", func(uuid string, r libovsdb.Row) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Delete("Load_Balancer", uuid)}
		}},
		{"a load balancer has another protocol", "Load_Balancer", func(uuid string, r libovsdb.Row) []libovsdb.Operation {
			if ovsdb.String(r["protocol"]) == "sctp" {
				return nil
			}
			return []libovsdb.Operation{ovsdb.Update("Load_Balancer", uuid, libovsdb.Row{"protocol": "sctp"})}
		}},
		{"a load balancer gains an option", "Load_Balancer", changeMap("options", func(m map[string]string, _ string) { m["event"] = "true" })},
		{"a load balancer loses an option", "Load_Balancer", changeMap("options", func(m map[string]string, first string) { delete(m, first) })},
		{"a VIP goes", "Load_Balancer", changeMap("vips", func(m map[string]string, first string) { delete(m, first) })},
		{"a VIP leads elsewhere", "Load_Balancer", changeMap("vips", func(m map[string]string, first string) { m[first] = "" })},
		{"a VIP appears", "Load_Balancer", changeMap("vips", func(m map[string]string, _ string) { m["192.0.2.66:80"] = "10.0.0.1:80" })},
		{"a group of load balancers is emptied", "Load_Balancer_Group", func(uuid string, r libovsdb.Row) []libovsdb.Operation {
			if len(ovsdb.Strings(r["load_balancer"])) == 0 {
				return nil
			}
			return []libovsdb.Operation{ovsdb.Update("Load_Balancer_Group", uuid, libovsdb.Row{"load_balancer": ovsdb.UUIDs(nil)})}
		}},
		{"an ACL is opened", "ACL", update("ACL", "action", "allow")},
		{"an ACL matches everything", "ACL", update("ACL", "match", "ip")},
		{"an ACL has another priority", "ACL", update("ACL", "priority", 7)},
		{"an ACL is logged", "ACL", func(uuid string, r libovsdb.Row) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Update("ACL", uuid, libovsdb.Row{"log": !ovsdb.Bool(r["log"])})}
		}},
	}
}

// changeMap changes the pairs of a map column, given the first key in order.
func changeMap(column string, spoil func(m map[string]string, first string)) func(string, libovsdb.Row) []libovsdb.Operation {
	return func(uuid string, r libovsdb.Row) []libovsdb.Operation {
		m := ovsdb.StringMap(r[column])
		if len(m) == 0 {
			return nil
		}
		before := maps.Clone(m)
		if spoil(m, slices.Sorted(maps.Keys(m))[0]); maps.Equal(before, m) {
			return nil
		}
		return []libovsdb.Operation{ovsdb.Update("Load_Balancer", uuid, libovsdb.Row{column: ovsdb.Map(m)})}
	}
}

// loss is a switch or a router that loses a reference to a row of an owner's.
type loss struct{ what, table, column string }

func losses() []loss {
	return []loss{
		{"a switch loses its group of load balancers", "Logical_Switch", "load_balancer_group"},
		{"a router loses its group of load balancers", "Logical_Router", "load_balancer_group"},
		{"a switch loses a load balancer", "Logical_Switch", "load_balancer"},
		{"a switch loses an ACL against sources", "Logical_Switch", "acls"},
	}
}

// Damage does the n-th harm to the first row of owner that it can change. Kinds that concern several rows at once, such
// as the removal of an ACL from its group, are in the tests of the backend itself.
func (g *Target) Damage(t testing.TB, owner string, n int) (backendtest.Damage, bool) {
	all, refs := harms(), losses()
	switch {
	case n < len(all):
		return g.harm(t, owner, all[n]), true
	case n < len(all)+len(refs):
		return g.lose(t, owner, refs[n-len(all)]), true
	case n == len(all)+len(refs):
		return g.forget(t, owner, true), true
	case n == len(all)+len(refs)+1:
		return g.forget(t, owner, false), true
	default:
		return backendtest.Damage{}, false
	}
}

func (g *Target) harm(t testing.TB, owner string, h harm) backendtest.Damage {
	d := backendtest.Damage{What: h.what}
	for _, r := range g.rows(t, h.table) {
		if g.ownerOf(h.table, r) != owner {
			continue
		}
		uuid := ovsdb.String(r["_uuid"])
		if ops := h.ops(uuid, r); len(ops) > 0 {
			d.Names = append(g.referrersOf(t, uuid), ovsdb.String(r["name"]))
			g.transact(t, ops...)
			break
		}
	}
	return d
}

// referrersOf lists the groups, switches and routers that have a load balancer: they lose it when it is deleted.
func (g *Target) referrersOf(t testing.TB, uuid string) []string {
	var names []string
	for _, table := range []string{"Load_Balancer_Group", "Logical_Switch", "Logical_Router"} {
		for _, r := range g.rows(t, table) {
			if slices.Contains(ovsdb.Strings(r["load_balancer"]), uuid) {
				names = append(names, ovsdb.String(r["name"]))
			}
		}
	}
	return names
}

// lose removes the first reference to a row of the owner's. An ACL is deleted with its last reference, and has to be restored.
func (g *Target) lose(t testing.TB, owner string, l loss) backendtest.Damage {
	d := backendtest.Damage{What: l.what}
	mine := map[string]string{} // names by UUID
	for table := range tables() {
		for _, r := range g.rows(t, table) {
			if g.ownerOf(table, r) == owner {
				mine[ovsdb.String(r["_uuid"])] = ovsdb.String(r["name"])
			}
		}
	}
	for _, r := range g.rows(t, l.table) {
		for _, to := range ovsdb.Strings(r[l.column]) {
			name, ours := mine[to]
			if !ours {
				continue
			}
			g.transact(t, ovsdb.MutateSet(l.table, ovsdb.String(r["_uuid"]), l.column, nil, []libovsdb.UUID{{GoUUID: to}}))
			d.Names = []string{ovsdb.String(r["name"]), name}
			return d
		}
	}
	return d
}

// forget removes a template variable of the owner's, from a row that the owner created or from one of others. Those are not watched.
func (g *Target) forget(t testing.TB, owner string, own bool) backendtest.Damage {
	d := backendtest.Damage{What: "a chassis loses a template variable"}
	if !own {
		d = backendtest.Damage{What: "a row of others loses a template variable", Unwatched: true}
	}
	for _, r := range g.rows(t, "Chassis_Template_Var") {
		if own != (g.ownerOf("Chassis_Template_Var", r) == owner) {
			continue
		}
		vars := ovsdb.StringMap(r["variables"])
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			if !strings.HasPrefix(name, variables(owner)) {
				continue
			}
			delete(vars, name)
			g.transact(t, ovsdb.Update("Chassis_Template_Var", ovsdb.String(r["_uuid"]), libovsdb.Row{"variables": ovsdb.Map(vars)}))
			d.Names = []string{ovsdb.String(r["chassis"])}
			return d
		}
	}
	return d
}
