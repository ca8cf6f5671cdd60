//go:build e2e

package ovn_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/seeds"
)

const database = "OVN_Northbound"

// TestServerIsLikeOVSDBServer runs the same random transactions on both and compares every result, the content of every
// table, and the updates of monitors.
func TestServerIsLikeOVSDBServer(t *testing.T) {
	total := make(map[string]int)
	seeds.Each(t, "ovsdbserver", func(t *testing.T, seed uint64) {
		compare(t, &generator{Rand: rand.New(rand.NewPCG(1, seed-1))}, total)
	})
	t.Logf("results by error, and more: %v", total)
	if seeds.All() {
		require.Greater(t, total["<nil>"], 2000)
		require.Greater(t, total["notifications"], 500)
	}
}

// compare starts new servers and runs some hundred transactions on both.
func compare(t *testing.T, g *generator, total map[string]int) {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+filepath.Join(t.TempDir(), "s")))
	defer server.Close()
	process, err := ovsdbtest.StartProcess(t.Context(), t.TempDir(), schema.NB2303())
	require.NoError(t, err)
	defer func() { _ = process.Kill() }()
	ours, theirs := dial(t, server.Addr()), dial(t, process.Addr())
	heard, expected := watch(t, server.Addr()), watch(t, process.Addr())
	for i := range 300 {
		ops := g.transaction()
		text, err := json.Marshal(ops)
		require.NoError(t, err)
		want, got := call(t, theirs, ops), call(t, ours, ops)
		forgive(ops, want, got)
		require.Equal(t, want, got, "transaction %d: %s", i, text)
		tables := dump(t, theirs)
		if dangles(tables) {
			total["rounds ended by a dangling reference"]++
			return
		}
		require.Equal(t, tables, dump(t, ours), "after transaction %d: %s", i, text)
		updates := expected()
		require.Equal(t, updates, heard(), "monitors after transaction %d: %s", i, text)
		total["notifications"] += len(updates)
		for _, r := range want {
			result, _ := r.(map[string]any)
			total[fmt.Sprint(result["error"])]++
		}
	}
}

// dangles reports whether a port group has a port that does not exist. ovsdb-server 3.1 leaves it there when the group is
// changed in the same transaction in which the port is collected. This server does not follow it in that.
func dangles(results []any) bool {
	ports := make(map[string]bool)
	rows := func(at int) []string {
		result, _ := results[at].(map[string]any)
		lines, _ := result["rows"].([]string)
		return lines
	}
	uuids := regexp.MustCompile(`"(` + strings.Repeat("[0-9a-f-]", 36) + `)"`)
	for _, line := range rows(slices.Index(tables, "Logical_Switch_Port")) {
		ports[uuids.FindStringSubmatch(line)[1]] = true
	}
	for _, line := range rows(slices.Index(tables, "Port_Group")) {
		_, members, _ := strings.Cut(line, `"ports":`)
		for _, match := range uuids.FindAllStringSubmatch(members, -1) {
			if !ports[match[1]] {
				return true
			}
		}
	}
	return false
}

func dial(t *testing.T, endpoint string) *ovsdbtest.Raw {
	t.Helper()
	raw, err := ovsdbtest.DialRaw(t.Context(), endpoint, database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	return raw
}

// watch monitors every table in both ways. The returned function returns the updates since its last call.
func watch(t *testing.T, endpoint string) func() map[string]any {
	t.Helper()
	raw := dial(t, endpoint)
	heard := make(map[string]any)
	raw.Notify = func(method string, params json.RawMessage) {
		var pair []any
		require.NoError(t, json.Unmarshal(params, &pair))
		heard[fmt.Sprint(method, " ", pair[0])] = pair
	}
	for _, method := range []string{"monitor", "monitor_cond"} {
		requests := make(map[string]any)
		for table, columns := range map[string][]string{
			"Logical_Switch": {"name", "ports"}, "Port_Group": {"name", "ports", "acls"}, "Logical_Switch_Port": {"name", "tag"},
			"Address_Set": {"addresses", "external_ids"}, "ACL": {"priority", "match", "action", "severity", "log"},
		} {
			requests[table] = map[string]any{"columns": columns}
		}
		_, err := raw.Call(method, database, method, requests)
		require.NoError(t, err)
	}
	_, err := raw.Call("monitor_cond", database, "conditional", conditional())
	require.NoError(t, err)
	return func() map[string]any {
		clear(heard)
		for range 2 { // the real server may answer the first before it sends the update
			_, err := raw.Call("echo")
			require.NoError(t, err)
		}
		return maps.Clone(heard)
	}
}

// conditional is a request for some rows of three tables, which rows come to meet and cease to meet.
func conditional() map[string]any {
	return map[string]any{
		"Address_Set": map[string]any{
			"columns": []string{"addresses", "external_ids"}, "select": map[string]any{"initial": false},
			"where": []any{[]any{"external_ids", "includes", []any{"map", []any{[]any{"a", "x"}}}}},
		},
		"ACL": map[string]any{
			"columns": []string{"match"}, "where": []any{[]any{"priority", ">", 1}, []any{"action", "==", "drop"}},
		},
		"Logical_Switch_Port": map[string]any{
			"columns": []string{"name"}, "where": []any{true},
			"select": map[string]any{"initial": false, "insert": false, "modify": false},
		},
		"Port_Group": map[string]any{"columns": []string{"ports"}, "where": []any{false}},
	}
}

// call runs a transaction and takes from the results what may differ: details, the offending syntax, versions.
func call(t *testing.T, raw *ovsdbtest.Raw, ops []any) []any {
	t.Helper()
	text, err := raw.Call("transact", append([]any{database}, ops...)...)
	require.NoError(t, err)
	var results []any
	require.NoError(t, json.Unmarshal(text, &results))
	for _, r := range results {
		result, ok := r.(map[string]any)
		if !ok {
			continue
		}
		delete(result, "details")
		delete(result, "syntax")
		if rows, ok := result["rows"].([]any); ok {
			result["rows"] = lines(rows)
		}
	}
	return results
}

// forgive accepts another error than the expected one where an operation has several values: the real server checks them
// in the order of a hash, and reports the first invalid one.
func forgive(ops, want, got []any) {
	for i := range min(len(ops), len(want), len(got)) {
		op, _ := ops[i].(map[string]any)
		row, _ := op["row"].(map[string]any)
		mutations, _ := op["mutations"].([]any)
		where, _ := op["where"].([]any)
		expected, _ := want[i].(map[string]any)
		result, _ := got[i].(map[string]any)
		if len(row)+len(mutations)+len(where) > 1 && expected["error"] != nil && result["error"] != nil {
			result["error"] = expected["error"]
		}
	}
}

func lines(rows []any) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		row, _ := r.(map[string]any)
		delete(row, "_version")
		text, _ := json.Marshal(row)
		out[i] = string(text)
	}
	sort.Strings(out)
	return out
}

var tables = []string{"Logical_Switch", "Logical_Switch_Port", "Port_Group", "ACL", "Address_Set", "Meter", "Meter_Band"}

func dump(t *testing.T, raw *ovsdbtest.Raw) []any {
	t.Helper()
	ops := make([]any, len(tables))
	for i, table := range tables {
		ops[i] = map[string]any{"op": "select", "table": table, "where": []any{}}
	}
	return call(t, raw, ops)
}

// generator makes transactions over so few uuids, names and values that they collide.
type generator struct{ *rand.Rand }

func (g *generator) one(all ...any) any { return all[g.IntN(len(all))] }

// mostly is one of good, and rarely bad.
func (g *generator) mostly(bad any, good ...any) any {
	if g.chance(3) {
		return bad
	}
	return g.one(good...)
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// uuid is one of a few for each table; rarely one of another table.
func (g *generator) uuid(table string) []any {
	at := sort.SearchStrings(tables, table)
	for i, name := range tables {
		if name == table {
			at = i
		}
	}
	if g.chance(2) {
		at = g.IntN(len(tables))
	}
	return []any{"uuid", fmt.Sprintf("%08d-0000-4000-8000-%012d", at, g.IntN(5))}
}

func (g *generator) set(most int, element func() any) any {
	n := g.IntN(most + 1)
	if n == 1 && g.chance(50) {
		return element()
	}
	all, seen := make([]any, 0, n), make(map[string]bool)
	for range n {
		e := element()
		if text := fmt.Sprint(e); !seen[text] || g.chance(2) {
			all, seen[text] = append(all, e), true
		}
	}
	return []any{"set", all}
}

func (g *generator) pairs() any {
	all, first := make([]any, g.IntN(3)), g.IntN(3)
	for i := range all {
		all[i] = []any{[]string{"a", "b", "c"}[(i+first)%3], g.one("x", "y")}
		if g.chance(2) {
			all[i] = []any{"a", "x"}
		}
	}
	return []any{"map", all}
}

// cells are columns of a table with values of the right type, most of them allowed.
func (g *generator) cells(table string) map[string]func() any {
	name := func() any { return g.one("n1", "n2", "n3") }
	refs := func(to string) func() any { return func() any { return g.set(2, func() any { return g.uuid(to) }) } }
	ids := func() any { return g.pairs() }
	switch table {
	case "Logical_Switch":
		return map[string]func() any{"name": name, "ports": refs("Logical_Switch_Port"), "acls": refs("ACL"), "external_ids": ids}
	case "Logical_Switch_Port":
		return map[string]func() any{
			"name": name, "external_ids": ids, "type": name,
			"tag":       func() any { return g.set(1, func() any { return g.mostly(4096, 0, 7, 4095) }) },
			"addresses": func() any { return g.set(3, func() any { return g.one("a", "b", "c", "d") }) },
		}
	case "Port_Group":
		return map[string]func() any{"name": name, "ports": refs("Logical_Switch_Port"), "acls": refs("ACL"), "external_ids": ids}
	case "ACL":
		return map[string]func() any{
			"action":    func() any { return g.mostly("pass", "allow", "drop", "allow-related") },
			"direction": func() any { return g.one("to-lport", "from-lport") },
			"match":     name, "priority": func() any { return g.mostly(-1, 0, 1, 2, 32767) },
			"name": func() any { return g.set(1, name) }, "log": func() any { return g.one(true, false) },
			"severity": func() any { return g.set(1, func() any { return g.mostly("loud", "alert", "info") }) },
			"label":    func() any { return g.mostly(4294967296, 0, 4294967295) }, "external_ids": ids,
		}
	case "Address_Set":
		return map[string]func() any{
			"name":         func() any { return g.mostly(5, "n1", "n2", "n3", "n4") },
			"external_ids": ids, "addresses": func() any { return g.set(4, func() any { return g.one("1", "2", "3", "4", "5") }) },
		}
	case "Meter":
		return map[string]func() any{
			"name": name, "unit": func() any { return g.one("kbps", "pktps") }, "bands": refs("Meter_Band"),
			"fair": func() any { return g.set(1, func() any { return g.one(true, false) }) },
		}
	default:
		return map[string]func() any{
			"action": func() any { return "drop" }, "rate": func() any { return g.mostly(0, 1, 2) },
			"burst_size": func() any { return g.one(0, 1, 2) }, "external_ids": ids,
		}
	}
}

func (g *generator) row(table string, all bool) map[string]any {
	row := make(map[string]any)
	cells := g.cells(table)
	for _, name := range sorted(cells) {
		if all && g.chance(97) || g.chance(20) {
			row[name] = cells[name]()
		}
	}
	if g.chance(1) {
		row["nonsense"] = 1
	}
	return row
}

func sorted(m map[string]func() any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (g *generator) where(table string) []any {
	if g.chance(70) {
		return []any{[]any{"_uuid", "==", g.uuid(table)}}
	}
	where := make([]any, 0, 2)
	cells := g.cells(table)
	names := sorted(cells)
	for range g.IntN(3) {
		name := names[g.IntN(len(names))]
		function := g.one("==", "!=", "includes", "excludes", "==", "includes")
		if g.chance(5) {
			function = g.mostly("~", "<", ">=", "<=", ">")
		}
		where = append(where, []any{name, function, cells[name]()})
	}
	return where
}

func (g *generator) mutations(table string) []any {
	all := make([]any, 0, 2)
	cells := g.cells(table)
	names := sorted(cells)
	for range 1 + g.IntN(2) {
		name := names[g.IntN(len(names))]
		for range 3 { // scalars of strings can only be mutated wrongly
			if slices.Contains([]string{"name", "type", "match", "action", "direction", "unit", "log"}, name) {
				name = names[g.IntN(len(names))]
			}
		}
		value := cells[name]()
		mutator := g.one("insert", "delete")
		if _, number := value.(int); number || g.chance(3) {
			mutator = g.mostly("^=", "+=", "-=", "*=", "/=", "%=")
		}
		if name == "external_ids" && mutator == "delete" && g.chance(50) {
			value = g.set(2, func() any { return g.one("a", "b", "c") })
		}
		all = append(all, []any{name, mutator, value})
	}
	return all
}

// family is rows that belong together: a parent and a child that exists only as long as it.
func (g *generator) family() []any {
	pair := [][3]string{
		{"Port_Group", "ACL", "acls"}, {"Logical_Switch", "Logical_Switch_Port", "ports"}, {"Meter", "Meter_Band", "bands"},
	}[g.IntN(3)]
	child := g.uuid(pair[1])
	parent := map[string]any{"op": "insert", "table": pair[0], "uuid": g.uuid(pair[0])[1], "row": g.row(pair[0], true)}
	parent["row"].(map[string]any)[pair[2]] = child
	if g.chance(60) {
		parent = map[string]any{
			"op": "mutate", "table": pair[0], "where": []any{}, "mutations": []any{[]any{pair[2], "insert", child}},
		}
	}
	return []any{
		parent, map[string]any{"op": "insert", "table": pair[1], "uuid": child[1], "row": g.row(pair[1], true)},
	}
}

func (g *generator) transaction() []any {
	if g.chance(40) {
		return g.family()
	}
	ops := make([]any, 1+g.IntN(4))
	for i := range ops {
		ops[i] = g.operation(tables[g.IntN(len(tables))])
	}
	return ops
}

func (g *generator) operation(table string) map[string]any {
	op := map[string]any{"table": table}
	switch n := g.IntN(100); {
	case n < 40:
		op["op"], op["row"] = "insert", g.row(table, true)
		op["uuid"] = g.uuid(table)[1]
		if g.chance(1) {
			delete(op, "row")
		}
	case n < 60:
		op["op"], op["row"], op["where"] = "update", g.row(table, false), g.where(table)
	case n < 85:
		op["op"], op["mutations"], op["where"] = "mutate", g.mutations(table), g.where(table)
	case n < 92:
		op["op"], op["where"] = "delete", g.where(table)
	case n < 95:
		op["op"], op["where"] = "select", g.where(table)
	case n < 98:
		g.wait(op, table)
	case n < 99:
		return map[string]any{"op": "comment", "comment": "x"}
	default:
		return map[string]any{"op": "abort"}
	}
	return op
}
