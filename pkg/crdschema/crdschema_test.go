package crdschema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/crdschema"
)

// definition is a CRD whose objects have this schema as their spec.
func definition(spec string) string {
	const head = "spec:\n  names: {kind: Thing}\n  versions:\n  - schema:\n      openAPIV3Schema:\n        type: object\n" +
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
		{"too few", "{type: array, minItems: 1}", "[]", "spec: Invalid value: 0: should have at least 1 items"},
		{"too many", "{type: array, maxItems: 1}", "[1, 2]", "spec: Too many: 2: must have at most 1 item"},
		{"an item", "{type: array, items: {type: string}}", "[a, 1]", `spec[1]: Invalid value: "integer": must be of type string`},
		{"a value under a free key", "{type: object, additionalProperties: {type: string}}", "{a: 1}", `spec[a]: Invalid value: "integer": must be of type string`},
		{
			"the same key twice", "{type: array, items: {type: object, properties: {k: {type: string}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]}",
			"[{k: a}, {k: b}, {k: a}]", `spec[2]: Duplicate value: "k: a"`,
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
			"{}", "spec: Invalid value: no such key: a",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, judge(t, tc.schema, tc.spec))
		})
	}
}

func TestRules(t *testing.T) {
	for _, tc := range []struct {
		rule, spec string
		want       bool
	}{
		{`self.a == 'x'`, `{a: x}`, true},
		{`self.a != 'x'`, `{a: x}`, false},
		{`!has(self.b)`, `{a: x}`, true},
		{`!(has(self.a) && has(self.b))`, `{a: x}`, true},
		{`!has(self.b) && !has(self.a)`, `{a: x}`, false},
		{`has(self.b) || has(self.a)`, `{a: x}`, true},
		{`has(self.a) || has(self.b) && has(self.c)`, `{a: x}`, true},
		{`(has(self.a) || has(self.b)) && has(self.c)`, `{a: x}`, false},
		{`self.b == 'x' || self.a == 'x'`, `{a: x}`, true},
		{`self.b == 'x' && self.a == 'y'`, `{a: x}`, false},
		{`self.b == 'x' || self.a == 'y'`, `{a: x}`, false},
		{`size(self.a) < 2 && size(self.a) <= 1 && size(self.a) > 0 && size(self.a) >= 1`, `{a: "é"}`, true},
		{`size(self.a) < 1`, `{a: x}`, false},
		{`size(self.l) == 2 && size(self) == 1`, `{l: [a, b]}`, true},
		{`int(self.a) <= 65535`, `{a: "65535"}`, true},
		{`int(self.a) <= 65535`, `{a: "65536"}`, false},
		{`int(self.a) <= 65535`, `{a: x}`, false},
		{`self.a.matches('^[^"\\x00-\\x1f\']*$')`, `{a: x}`, true},
		{`self.a.matches('^[^"\\x00-\\x1f\']*$')`, `{a: "x\ty"}`, false},
		{`self.a.matches('^[^"\\x00-\\x1f\']*$')`, `{a: "x'y"}`, false},
		{`self.a.matches('^[^"\\x00-\\x1f\']*$')`, `{a: 'x"y'}`, false},
		{`self.l.matches('a')`, `{l: [a]}`, false},
	} {
		t.Run(tc.rule+" "+tc.spec, func(t *testing.T) {
			rule, err := json.Marshal(tc.rule)
			require.NoError(t, err)
			schema := "{type: object, properties: {a: {type: string}, b: {type: string}, c: {type: string}, l: {type: array}}, " +
				"x-kubernetes-validations: [{message: 'no', rule: " + string(rule) + "}]}"
			require.Equal(t, tc.want, judge(t, schema, tc.spec) == "")
		})
	}
}

// TestUnknownLanguageIsRefused demands of a definition that all of it is understood.
func TestUnknownLanguageIsRefused(t *testing.T) {
	rule := func(text string) string {
		return `{type: object, x-kubernetes-validations: [{message: "no", rule: "` + text + `"}]}`
	}
	for _, tc := range []struct{ name, schema, want string }{
		{"a keyword", "{type: string, uniqueItems: true}", `unknown field "uniqueItems"`},
		{"a set", "{type: array, x-kubernetes-list-type: set}", "sets are not known"},
		{"a pattern that is none", "{type: string, pattern: '('}", "missing closing"},
		{"a function", rule("self.all(x, x > 0)"), "cannot read"},
		{"too much", rule("has(self.a) self"), "did not expect"},
		{"an operator", rule("size(self) + 1 == 2"), "cannot read"},
		{"a word", rule("other == 1"), "invalid syntax"},
		{"half a rule", rule("has(self.a) &&"), "ends too early"},
		{"half a call", rule("has(self.a"), `expected ")", found ""`},
		{"a field without a name", rule("self."), "ends too early"},
		{"a pattern of a rule that is none", rule("self.a.matches('(')"), "missing closing"},
		{"a pattern that is no text", rule("self.a.matches(self.b)"), "expected text"},
		{"below", "{type: object, properties: {a: {type: array, items: {pattern: '('}}}}", "a: error parsing regexp"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := crdschema.Parse([]byte(definition(tc.schema)))
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := crdschema.Parse([]byte("spec: {versions: []}"))
	require.ErrorContains(t, err, "expected one version")
	_, err = crdschema.Parse([]byte("{"))
	require.Error(t, err)
}
