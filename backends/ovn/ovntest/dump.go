package ovntest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Dump implements backendtest.Target.
func (g *Target) Dump(t testing.TB) string {
	return g.dump(t, func(owner string) bool { return owner != "" })
}

// DumpOwner implements backendtest.Target.
func (g *Target) DumpOwner(t testing.TB, owner string) string {
	return g.dump(t, func(o string) bool { return o == owner })
}

func (g *Target) dumpForeign(t testing.TB) string {
	return g.dump(t, func(owner string) bool { return owner == "" })
}

// dump formats the rows of the selected owners in the tables that backends write, in order. Ports are shown by name.
func (g *Target) dump(t testing.TB, take func(owner string) bool) string {
	ports := map[string]string{}
	for _, r := range g.rows(t, "Logical_Switch_Port", "_uuid", "name") {
		ports[ovsdb.String(r["_uuid"])] = ovsdb.String(r["name"])
	}
	owners := map[string]string{} // by UUID
	var lines []string
	for table, columns := range tables() {
		for _, r := range g.rows(t, table, columns...) {
			owner := g.ownerOf(table, r)
			owners[ovsdb.String(r["_uuid"])] = owner
			if !take(owner) {
				continue
			}
			line := table
			for _, c := range columns {
				if v := format(r[c], ports); v != "" {
					line += fmt.Sprintf(" %s=%s", c, v)
				}
			}
			lines = append(lines, line)
		}
	}
	lines = append(lines, g.dumpReferences(t, owners, take)...)
	lines = append(lines, g.dumpVariables(t, take)...)
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// ownerOf returns the owner of a row. A group of load balancers has no mark: its name is or begins with that of its owner.
func (g *Target) ownerOf(table string, r libovsdb.Row) string {
	if table != "Load_Balancer_Group" {
		return ovsdb.StringMap(r["external_ids"])[ovn.KeyOwner]
	}
	name := ovsdb.String(r["name"])
	for _, o := range g.owners {
		if name == o || strings.HasPrefix(name, o+"-") || strings.HasPrefix(name, o+"_") {
			return o
		}
	}
	return ""
}

// dumpReferences formats which switches and routers refer to rows, by the owners of those rows.
func (g *Target) dumpReferences(t testing.TB, owners map[string]string, take func(owner string) bool) []string {
	var lines []string
	for table, columns := range map[string][]string{
		"Logical_Switch": {"acls", "load_balancer", "load_balancer_group"},
		"Logical_Router": {"load_balancer", "load_balancer_group"},
	} {
		for _, r := range g.rows(t, table, append([]string{"name"}, columns...)...) {
			for _, c := range columns {
				for _, to := range ovsdb.Strings(r[c]) {
					if take(owners[to]) {
						lines = append(lines, fmt.Sprintf("%s %s %s=%s", table, ovsdb.String(r["name"]), c, to))
					}
				}
			}
		}
	}
	return lines
}

// dumpVariables lists template variables by their owners, which are a prefix of their names: owners share the one row of a
// chassis. A row without variables is listed for the owner that it names, if any.
func (g *Target) dumpVariables(t testing.TB, take func(owner string) bool) []string {
	var lines []string
	for _, r := range g.rows(t, "Chassis_Template_Var", "chassis", "variables", "external_ids") {
		vars, chassis := ovsdb.StringMap(r["variables"]), ovsdb.String(r["chassis"])
		if o := ovsdb.StringMap(r["external_ids"])[ovn.KeyOwner]; len(vars) == 0 && o != "" && take(o) {
			lines = append(lines, "Chassis_Template_Var "+chassis)
		}
		for name, value := range vars {
			whose := ""
			for _, o := range g.owners {
				if strings.HasPrefix(name, variables(o)) {
					whose = o
				}
			}
			if take(whose) {
				lines = append(lines, fmt.Sprintf("Chassis_Template_Var %s %s=%s", chassis, name, value))
			}
		}
	}
	return lines
}

// variables returns the prefix of the names of an owner's template variables.
func variables(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return "nlv_" + hex.EncodeToString(sum[:4]) + "_"
}

// rows returns those of a table, with some of its columns; without any, all. They must not be changed.
func (g *Target) rows(t testing.TB, table string, columns ...string) []libovsdb.Row {
	t.Helper()
	if !g.admin.Schema().Has(table) {
		return nil
	}
	g.refresh(t)
	key := strings.Join(append([]string{table}, columns...), " ")
	if rows, ok := g.read[key]; ok {
		return rows
	}
	rows, err := g.admin.Select(t.Context(), table, nil, columns...)
	require.NoError(t, err)
	slices.SortFunc(rows, func(a, b libovsdb.Row) int { // the server's order depends on its history
		return cmp.Compare(ovsdb.String(a["_uuid"]), ovsdb.String(b["_uuid"]))
	})
	g.read[key] = rows
	return rows
}

// refresh forgets what was read before the last write.
func (g *Target) refresh(t testing.TB) {
	if n := g.Writes(t); n != g.traced {
		g.seen, g.read, g.traced = nil, map[string][]libovsdb.Row{}, n
	}
}

// tables lists the columns that are dumped.
func tables() map[string][]string {
	return map[string][]string{
		"ACL": {
			"_uuid", "name", "direction", "priority", "match", "action", "tier", "log", "severity", "meter", "options",
			"external_ids",
		},
		"Address_Set": {"_uuid", "name", "addresses", "external_ids"},
		"Load_Balancer": {
			"_uuid", "name", "vips", "protocol", "options", "selection_fields", "external_ids",
		},
		"Load_Balancer_Group": {"_uuid", "name", "load_balancer"},
		"Meter":               {"_uuid", "name", "unit", "fair", "bands", "external_ids"},
		"Meter_Band":          {"_uuid", "action", "rate", "burst_size", "external_ids"},
		"Port_Group":          {"_uuid", "name", "ports", "acls", "external_ids"},
	}
}

func format(value any, ports map[string]string) string {
	switch v := value.(type) {
	case libovsdb.OvsMap:
		var parts []string
		for k, e := range ovsdb.StringMap(v) {
			parts = append(parts, k+"="+e)
		}
		slices.Sort(parts)
		return strings.Join(parts, ",")
	case libovsdb.OvsSet, libovsdb.UUID:
		parts := ovsdb.Strings(v)
		for i, u := range parts {
			if name := ports[u]; name != "" {
				parts[i] = name
			}
		}
		slices.Sort(parts)
		return strings.Join(parts, ",")
	default:
		return fmt.Sprint(v)
	}
}
