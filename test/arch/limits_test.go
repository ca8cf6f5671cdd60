package arch_test

import (
	"testing"

	"github.com/netloom/netloom/test/arch"
)

// TestTheBudgetOfOneObjectIsTheDefault looks for programs with another one: what they read is trimmed for the default.
func TestTheBudgetOfOneObjectIsTheDefault(t *testing.T) {
	const fault = "only tests may set it"
	for _, tc := range []struct{ name, body, want string }{
		{"the default", "var _ = translator.New(translator.Options{Families: 1})", ""},
		{"another one", "var _ = translator.New(translator.Options{Budget: nil})", fault},
		{"set later", "func f(o *translator.Options) { o.Budget = nil }", fault},
		{"the budgets of namespaces", "func f(o *translator.Options) { o.Shares = nil }", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := []byte("package offline\n\nimport \"github.com/netloom/netloom/translator\"\n\n" + tc.body + "\n")
			requireFault(t, "", arch.Source{Path: "pkg/offline/offline_test.go", Text: text})
			requireFault(t, tc.want, arch.Source{Path: "pkg/offline/offline.go", Text: append([]byte("// Package offline is an example.\n"), text...)})
		})
	}
}
