package ovntest

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// AddForeign adds a port group with ACLs, an address set, a switch ACL, load balancers on a switch and in a group, and
// template variables of a chassis, like those of another controller.
func (g *Target) AddForeign(t testing.TB) {
	acl := func(name string) libovsdb.Operation {
		return ovsdb.Insert("ACL", id("foreign acl", name), libovsdb.Row{
			"action": "allow-related", "direction": "to-lport", "priority": 900, "match": "ip4 && tcp.dst == 22", "name": name,
			"external_ids": ovsdb.Map(map[string]string{"vendor": "another"}),
		})
	}
	g.transact(t,
		acl("on a group"), acl("on a switch"),
		ovsdb.Insert("Port_Group", id("foreign", "pg"), libovsdb.Row{
			"name": "another", "acls": ovsdb.UUIDs([]string{id("foreign acl", "on a group")}),
		}),
		ovsdb.Insert("Address_Set", id("foreign", "as"), libovsdb.Row{
			"name": "another", "addresses": ovsdb.Set([]string{"10.0.0.1"}),
		}),
		ovsdb.MutateSet("Logical_Switch", id("switch", g.networks[0].pods), "acls",
			[]libovsdb.UUID{{GoUUID: id("foreign acl", "on a switch")}}, nil),
	)
	g.transact(t, g.foreignBalancers()...)
	g.foreign = g.dumpForeign(t)
}

// RefuseObject implements backendtest.Refuser: of the rows of some tables only one can have a name, and a row of somebody else has it.
func (g *Target) RefuseObject(t testing.TB, op *backends.Op) bool {
	if op == nil {
		for _, table := range []string{"Port_Group", "Address_Set"} {
			g.transact(t, ovsdb.Delete(table, id("squatter", table)))
		}
		return true
	}
	if op.Verb != backends.Create || op.Kind != "Port_Group" && op.Kind != "Address_Set" {
		return false
	}
	g.transact(t, ovsdb.Insert(op.Kind, id("squatter", op.Kind), libovsdb.Row{"name": op.Name}))
	return true
}

// foreignBalancers adds what the schema supports.
func (g *Target) foreignBalancers() []libovsdb.Operation {
	balancer := func(name, vip string) libovsdb.Operation {
		return ovsdb.Insert("Load_Balancer", id("foreign lb", name), libovsdb.Row{
			"name": name, "vips": ovsdb.Map(map[string]string{vip: "10.0.0.1:80"}),
			"external_ids": ovsdb.Map(map[string]string{"vendor": "another"}),
		})
	}
	home := id("switch", g.networks[0].pods)
	ops := []libovsdb.Operation{
		balancer("on a switch", "192.0.2.250:80"), balancer("in a group", "192.0.2.251:80"),
		ovsdb.MutateSet("Logical_Switch", home, "load_balancer", []libovsdb.UUID{{GoUUID: id("foreign lb", "on a switch")}}, nil),
	}
	if g.admin.Schema().Has("Load_Balancer_Group") {
		ops = append(ops,
			ovsdb.Insert("Load_Balancer_Group", id("foreign", "lbg"), libovsdb.Row{
				"name": "another", "load_balancer": ovsdb.UUIDs([]string{id("foreign lb", "in a group")}),
			}),
			ovsdb.MutateSet("Logical_Switch", home, "load_balancer_group", []libovsdb.UUID{{GoUUID: id("foreign", "lbg")}}, nil))
	}
	if g.admin.Schema().Has("Chassis_Template_Var") {
		ops = append(ops, ovsdb.Insert("Chassis_Template_Var", id("foreign", "vars"), libovsdb.Row{
			"chassis": "n1", "variables": ovsdb.Map(map[string]string{"theirs": "10.0.0.1"}),
		}))
	}
	return ops
}

var _ backendtest.Refuser = (*Target)(nil)
