package crdschema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/crdschema"
)

// definition is a CRD whose objects have this schema as their spec.
func definition(spec string) string {
	const head = "spec:\n  names: {kind: Thing}\n  versions:\n  - storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n" +
		"        required: [spec]\n        properties:\n          status: {type: string}\n          spec:\n"
	return head + "            " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n            ")
}

// judge says what is wrong with a spec, one fault a line.
func judge(t *testing.T, schema, spec string) string {
	t.Helper()
	d, err := crdschema.Parse([]byte(definition(schema)))
	require.NoError(t, err)
	require.Equal(t, "Thing", d.Kind)
	var o map[string]any
	text, err := yaml.YAMLToJSON([]byte("status: 1\nspec: " + spec))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &o))
	var lines []string
	for _, f := range d.Validate(o) {
		lines = append(lines, f.Error())
	}
	return strings.Join(lines, "\n")
}

func TestKeywords(t *testing.T) {
	for _, tc := range []struct{ name, schema, spec, want string }{
		{"the type that is wanted", "type: string", "a", ""},
		{"another type", "type: string", "1", `spec: Invalid value: "integer": must be of type string`},
		{"a number that is not whole", "type: integer", "1.5", `spec: Invalid value: "number": must be of type integer`},
		{"nothing", "type: string", "null", "spec: Required value"},
		{"a field that is missing", "{type: object, required: [a, b], properties: {a: {type: integer}, b: {type: integer}}}", "{a: 1}", "spec.b: Required value"},
		{"a field that is null", "{type: object, required: [a], properties: {a: {type: string}}}", "{a: null}", "spec.a: Required value"},
		{"a word of several", "{type: string, enum: ['', a]}", "a", ""},
		{"another word", "{type: string, enum: ['', a]}", "b", `spec: Unsupported value: "b": supported values: "", "a"`},
		{"too long", "{type: string, maxLength: 2}", "abc", "spec: Too long: may not be more than 2 bytes"},
		{"too short", "{type: string, minLength: 1}", "''", `spec: Invalid value: "": should be at least 1 chars long`},
		{"a pattern", "{type: string, pattern: '^a$'}", "b", `spec: Invalid value: "b": should match '^a$'`},
		{"too little", "{type: integer, minimum: 1}", "0", "spec: Invalid value: 0: should be greater than or equal to 1"},
		{"too much", "{type: integer, maximum: 1}", "2", "spec: Invalid value: 2: should be less than or equal to 1"},
		{"too few", "{type: array, items: {type: integer}, minItems: 1}", "[]", "spec: Invalid value: 0: should have at least 1 items"},
		{"too many", "{type: array, items: {type: integer}, maxItems: 1}", "[1, 2]", "spec: Too many: 2: must have at most 1 item"},
		{"an item", "{type: array, items: {type: string}}", "[a, 1]", `spec[1]: Invalid value: "integer": must be of type string`},
		{"a value under a free key", "{type: object, additionalProperties: {type: string}}", "{a: 1}", `spec.a: Invalid value: "integer": must be of type string`},
		{"two fields of which one may be", "{type: object, maxProperties: 1, properties: {a: {type: string}, b: {type: string}}}", "{a: x, b: x}", "spec: Too many: 2: must have at most 1 item"},
		{"a format", "{type: integer, format: int32}", "3000000000", "spec: Invalid value: must be of type integer with format int32"},
		{
			"fields that are compared",
			"{type: object, properties: {start: {type: integer}, end: {type: integer}}, x-kubernetes-validations: [{rule: self.start < self.end, message: start before end}]}",
			"{start: 2, end: 1}", "spec: Invalid value: start before end",
		},
		{
			"the same key twice", "{type: array, items: {type: object, properties: {k: {type: string}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]}",
			"[{k: a}, {k: b}, {k: a}]", `spec[2]: Duplicate value: {"k":"a"}`,
		},
		{
			"a rule", "{type: string, x-kubernetes-validations: [{rule: 'size(self) == 1', message: one letter}]}", "ab",
			`spec: Invalid value: "ab": one letter`,
		},
		{
			"a rule about a field", "{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: has(self.a), message: say a, fieldPath: .a, reason: FieldValueRequired}]}",
			"{}", "spec.a: Required value: say a",
		},
		{
			"a rule about a field quotes nothing", "{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: self.a == 'x', message: not so, fieldPath: .a}]}",
			"{a: hunter2}", "spec.a: Invalid value: not so",
		},
		{
			"a rule where something else is wrong", "{type: object, required: [b], properties: {a: {type: string}}, x-kubernetes-validations: [{rule: has(self.a), message: say a}]}",
			"{}", "spec.b: Required value",
		},
		{
			"a rule about a default", "{type: object, properties: {a: {type: string, default: x}}, x-kubernetes-validations: [{rule: self.a == 'x', message: not so}]}",
			"{}", "",
		},
		{
			"a rule without an answer", "{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: self.a == 'x', message: not so}]}",
			"{}", `spec: Invalid value: "object": no such key: a evaluating rule: not so`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, judge(t, tc.schema, tc.spec))
		})
	}
}

// TestRules evaluates CEL with the functions that an API server adds to it.
func TestRules(t *testing.T) {
	for _, tc := range []struct {
		rule, spec string
		want       bool
	}{
		{`self.a == 'x' && !has(self.b)`, `{a: x}`, true},
		{`has(self.b) || self.a != 'x'`, `{a: x}`, false},
		{`size(self.a) == 1`, `{a: "é"}`, true},
		{`int(self.a) <= 65535`, `{a: "65536"}`, false},
		{`int(self.a) <= 65535`, `{a: x}`, false},
		{`self.a.matches('^[^"\\x00-\\x1f\']*$')`, `{a: "x\ty"}`, false},
		{`self.l.all(x, x.startsWith('a'))`, `{l: [a, ab]}`, true},
		{`self.l.all(x, x.startsWith('a'))`, `{l: [a, b]}`, false},
		{`isCIDR(self.a) && cidr(self.a).prefixLength() >= 8`, `{a: 10.0.0.0/8}`, true},
		{`isCIDR(self.a) && cidr(self.a).prefixLength() >= 8`, `{a: 10.0.0.0/7}`, false},
	} {
		t.Run(tc.rule+" "+tc.spec, func(t *testing.T) {
			schema := "{type: object, properties: {a: {type: string}, b: {type: string}, l: {type: array, items: {type: string}}}, " +
				"x-kubernetes-validations: [{message: 'no', rule: " + quoted(t, tc.rule) + "}]}"
			require.Equal(t, tc.want, judge(t, schema, tc.spec) == "")
		})
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	require.NoError(t, err)
	return string(out)
}

// TestRuleThatDoesNotCompileFailsClosed has every object refused that such a rule is about.
func TestRuleThatDoesNotCompileFailsClosed(t *testing.T) {
	schema := "{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{message: 'no', rule: 'self.b == 1'}]}"
	require.Contains(t, judge(t, schema, "{a: x}"), "spec: Invalid value: \"object\": rule compile error: compilation failed")
}

// TestExpensiveRulesAreGivenUp bounds what the rules of one object may cost.
func TestExpensiveRulesAreGivenUp(t *testing.T) {
	schema := "{type: object, properties: {l: {type: array, items: {type: string}}}, " +
		"x-kubernetes-validations: [{message: 'no', rule: 'self.l.all(a, self.l.all(b, self.l.all(c, a + b + c != \"\")))'}]}"
	faults := judge(t, schema, "{l: ["+strings.Repeat("x, ", 300)+"x]}")
	require.Contains(t, faults, "exceeds")
}

// TestObjectStaysAsItIs fills defaults in, and drops nulls, in a copy.
func TestObjectStaysAsItIs(t *testing.T) {
	d, err := crdschema.Parse([]byte(definition("{type: object, properties: {a: {type: string, default: x}, b: {type: string}}}")))
	require.NoError(t, err)
	o := map[string]any{"status": "s", "spec": map[string]any{"b": nil}}
	require.Empty(t, d.Validate(o))
	require.Equal(t, map[string]any{"status": "s", "spec": map[string]any{"b": nil}}, o)
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"a keyword that no server knows", definition("{type: string, minimumLength: 1}"), `unknown field "minimumLength"`},
		{"a schema that is not structural", definition("{type: array}"), "properties[spec].items: Required value"},
		{"a CRD without a version", "spec: {versions: []}", "no version with a schema is stored"},
		{"what is not YAML", "{", "read a CRD"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := crdschema.Parse([]byte(tc.text))
			require.ErrorContains(t, err, tc.want)
		})
	}
}
