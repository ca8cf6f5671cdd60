package ovsdb

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
)

const testUUID = "11111111-1111-4111-8111-111111111111"

// TestOperationsAreSpelledAsLibovsdbDoes compares with the library's own, slower marshaling.
func TestOperationsAreSpelledAsLibovsdbDoes(t *testing.T) {
	timeout, durable, text := 0, true, "why"
	tests := []struct {
		name string
		op   ovsdb.Operation
	}{
		{"insert", Insert("Address_Set", testUUID, ovsdb.Row{
			"name": "a\"\\\n\x00ü<", "addresses": Set([]string{"1", "2"}), "external_ids": Map(map[string]string{"k": "v"}),
			"n": 5, "big": 1 << 40, "real": 1.5, "yes": true, "no": false, "ref": ovsdb.UUID{GoUUID: testUUID},
			"named": ovsdb.UUID{GoUUID: "row1"}, "empty": Set([]string{}),
		})},
		{"insert by name", ovsdb.Operation{Op: "insert", Table: "ACL", UUIDName: "x", Row: ovsdb.Row{"a": "b"}}},
		{"update", Update("ACL", testUUID, ovsdb.Row{"match": "ip"})},
		{"delete", Delete("ACL", testUUID)},
		{"mutate", MutateSet("Port_Group", testUUID, "ports", []ovsdb.UUID{{GoUUID: testUUID}, {GoUUID: "p"}},
			[]ovsdb.UUID{{GoUUID: "q"}, {GoUUID: "r"}})},
		{"select", ovsdb.Operation{Op: "select", Table: "ACL", Columns: []string{"match"}}},
		{"select where", ovsdb.Operation{Op: "select", Table: "ACL", Where: WithExternalID(map[string]string{"a": "b"})}},
		{"wait", ovsdb.Operation{
			Op: "wait", Table: "ACL", Timeout: &timeout, Where: ByUUID(testUUID), Columns: []string{"match", "name"}, Until: "==",
			Rows: []ovsdb.Row{{"match": "ip"}, {"match": "ip4"}},
		}},
		{"commit", ovsdb.Operation{Op: "commit", Durable: &durable}},
		{"comment", ovsdb.Operation{Op: "comment", Comment: &text}},
		{"assert", ovsdb.Operation{Op: "assert", Lock: &text}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			want, err := json.Marshal(tc.op)
			require.NoError(t, err)
			got, err := appendOp(nil, &tc.op)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
		})
	}
}

// TestRequiredMembersAreSpelledWhenEmpty checks members that servers require and the library omits.
func TestRequiredMembersAreSpelledWhenEmpty(t *testing.T) {
	tests := []struct {
		name string
		op   ovsdb.Operation
		want string
	}{
		{"an insert without columns", Insert("A", testUUID, nil), `{"op":"insert","table":"A","uuid":"` + testUUID + `","row":{}}`},
		{"a delete of all rows", ovsdb.Operation{Op: "delete", Table: "A"}, `{"op":"delete","table":"A","where":[]}`},
		{"a mutate of nothing", ovsdb.Operation{Op: "mutate", Table: "A"}, `{"op":"mutate","table":"A","mutations":[],"where":[]}`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := appendOp(nil, &tc.op)
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(got))
		})
	}
}

func TestPlainGoValuesAreSpelledAsColumns(t *testing.T) {
	got, err := appendOp(nil, &ovsdb.Operation{Op: "update", Table: "A", Where: ByUUID(testUUID), Row: ovsdb.Row{
		"a": []string{"x", "y"}, "b": map[string]string{"k": "v"}, "c": []ovsdb.UUID{{GoUUID: testUUID}},
	}})
	require.NoError(t, err)
	require.JSONEq(t, `{"op":"update","table":"A","where":[["_uuid","==",["uuid","`+testUUID+`"]]],
		"row":{"a":["set",["x","y"]],"b":["map",[["k","v"]]],"c":["set",[["uuid","`+testUUID+`"]]]}}`, string(got))
}

func TestValueThatCannotBeSpelledIsAnError(t *testing.T) {
	_, err := appendTransact(nil, "db", []ovsdb.Operation{Insert("A", testUUID, ovsdb.Row{"r": math.Inf(1)})})
	require.ErrorContains(t, err, "operation 0: insert A: column r")
}

// FuzzString checks that a string arrives at a JSON reader as it left.
func FuzzString(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\x00\x7fü\u2028<&>")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(appendString(nil, s)))
	})
}

// FuzzResults checks that no answer of a server makes the client panic.
func FuzzResults(f *testing.F) {
	f.Add(`[{"uuid":["uuid","x"]},null,{"count":1},{"error":"e","details":"d"}]`)
	f.Add(`[{"rows":[{"a":["set",[1,["uuid","x"]]],"b":["map",[["k","v"],[["set",[]],1]]],"c":["map",5],"d":[[],[]]}]}]`)
	f.Fuzz(func(_ *testing.T, s string) {
		_ = new(results).decode(json.NewDecoder(strings.NewReader(s))) // an error is an answer too
	})
}

func TestResultsAreRead(t *testing.T) {
	var r results
	err := r.decode(json.NewDecoder(strings.NewReader(`[{"uuid":["uuid","x"]},{"count":3},null,{"rows":[{
		"one":"a","none":["set",[]],"two":["set",["a","b"]],"ref":["uuid","u"],"refs":["set",[["uuid","u"],["uuid","v"]]],
		"map":["map",[["k","v"]]],"n":7,"opt":["set",[]],"flag":true,"flags":["set",[true]],"ns":["set",[7]]}]},
		{"error":"constraint violation","details":"no"}]`)))
	require.NoError(t, err)
	results := r.list
	require.Equal(t, "x", results[0].UUID.GoUUID)
	require.Equal(t, 3, results[1].Count)
	require.Equal(t, ovsdb.OperationResult{}, results[2])
	require.Equal(t, "constraint violation", results[4].Error)
	row := results[3].Rows[0]
	require.Equal(t, []string{"a"}, Strings(row["one"]))
	require.Empty(t, Strings(row["none"]))
	require.Equal(t, []string{"a", "b"}, Strings(row["two"]))
	require.Equal(t, "u", String(row["ref"]))
	require.Equal(t, []string{"u", "v"}, Strings(row["refs"]))
	require.Equal(t, map[string]string{"k": "v"}, StringMap(row["map"]))
	require.Equal(t, []int{7, 0, 7}, []int{Int(row["n"]), Int(row["opt"]), Int(row["ns"])})
	require.Equal(t, []bool{true, false, true}, []bool{Bool(row["flag"]), Bool(row["opt"]), Bool(row["flags"])})
}
