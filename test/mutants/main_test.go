package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const good = `What: an except is open
Found: planted
Killed-by: ./pkg/intent ^TestSubtract$/one_half
Killed-by: -C test/crds -race -tags e2e . ^TestA$ -kubeapi here

--- a/pkg/intent/prefix.go
+++ b/pkg/intent/prefix.go
@@ -1,3 +1,3 @@
 a
-b
+c
 d
`

func TestParse(t *testing.T) {
	m, err := parse(good)
	require.NoError(t, err)
	require.Equal(t, mutant{
		what: "an except is open", found: "planted", section: "test", files: []string{"pkg/intent/prefix.go"}, text: []byte(good),
		killers: []killer{
			{room: "./pkg/intent", run: "^TestSubtract$/one_half"},
			{flags: "-C test/crds -race -tags e2e", room: ".", run: "^TestA$", args: "-kubeapi here"},
		},
	}, m)
	require.True(t, m.onlyGo())

	m, err = parse(strings.ReplaceAll(good, "prefix.go", "role.yaml") + "--- a/x.go\n+++ b/x.go\n")
	require.NoError(t, err)
	require.Equal(t, []string{"pkg/intent/role.yaml", "x.go"}, m.files)
	require.False(t, m.onlyGo(), "one file that the go command does not read is enough")
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, old, new, want string }{
		{"an unknown header", "Found:", "Author:", `unknown header "Author: planted"`},
		{"a header without a value", "planted", "", "no Found"},
		{"a mutant that no test kills", "Killed-by", "Section", "no Killed-by"},
		{"a killer without a test", "./pkg/intent ^TestSubtract$/one_half", "./pkg/intent", "expected [FLAG...] PACKAGE REGEXP"},
		{"a killer without a package", "./pkg/intent ^Test", "-race ^Test", "expected [FLAG...] PACKAGE REGEXP"},
		{"an expression that is none", "^TestA$", "(", "missing closing )"},
		{"a header alone", "+++", "", "no diff"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parse(strings.ReplaceAll(good, tc.old, tc.new))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestVariablesArePutIntoKillers(t *testing.T) {
	t.Setenv("KUBEAPI", "/bin/kubeapi")
	k, err := killing(`-C test/e2ekube . ^(TestA|TestB)$ -kubeapi $KUBEAPI`)
	require.NoError(t, err)
	require.Equal(t, killer{"-C test/e2ekube", ".", "^(TestA|TestB)$", "-kubeapi /bin/kubeapi"}, k)
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		run, test string
		want      bool
	}{
		{"^TestA$", "TestA", true},
		{"^TestA$", "TestA/sub", true},
		{"^TestA$", "TestAB", false},
		{"^TestA$/one", "TestA/two", false},
		{"^TestA$/one", "TestA/one_more", true},
		{"^TestA$/one", "TestA", true},
		{"^(TestA|TestB)$", "TestB", true},
	} {
		require.Equal(t, tc.want, killer{run: tc.run}.matches(tc.test), "%s of %s", tc.run, tc.test)
	}
}

const (
	passes = `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"said\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"pass"}
`
	fails = `{"Action":"run","Test":"TestA"}
{"Action":"run","Test":"TestA/sub"}
{"Action":"fail","Test":"TestA/sub"}
{"Action":"fail","Test":"TestA"}
{"Action":"fail"}
`
	panics = `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"panic: test timed out after 2m0s\n"}
{"Action":"fail"}
`
	refused = `{"ImportPath":"x","Action":"build-output","Output":"undefined: y\n"}
{"ImportPath":"x","Action":"build-fail"}
{"Action":"fail","FailedBuild":"x"}
`
	exits = `{"Action":"output","Output":"no database\n"}
{"Action":"fail"}
`
	skips = `{"Action":"run","Test":"TestA"}
{"Action":"skip","Test":"TestA"}
{"Action":"pass"}
`
)

func TestOnlyTheNamedTestKills(t *testing.T) {
	for _, tc := range []struct {
		name, output, run string
		failure           bool
		want              outcome
		detail            string
	}{
		{"a test that passes", passes, "^TestA$", false, survived, ""},
		{"a test that fails", fails, "^TestA$", true, killed, "TestA/sub"},
		{"a test that ends the program", panics, "^TestA$", true, killed, "TestA"},
		{"another test that fails", fails, "^TestB$", true, unexplained, ""},
		{"code that does not compile", refused, "^TestA$", true, uncompiled, "undefined: y\n"},
		{"a program that ends before its tests", exits, "^TestA$", true, unexplained, "no database\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			said, err := events(strings.NewReader(tc.output))
			require.NoError(t, err)
			said.failure = tc.failure
			got, detail := judge(said, killer{run: tc.run})
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.detail, detail)
		})
	}
}

func TestTestsHaveToPassWithoutAMutant(t *testing.T) {
	for _, tc := range []struct {
		name, output, run string
		failure           bool
		want              outcome
	}{
		{"a test that passes", passes, "^TestA$", false, ""},
		{"a test that fails", fails, "^TestA$", true, unsound},
		{"a test that is skipped", skips, "^TestA$", false, unnamed},
		{"no such test", passes, "^TestB$", false, unnamed},
		{"code that does not compile", refused, "^TestA$", true, unsound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			said, err := events(strings.NewReader(tc.output))
			require.NoError(t, err)
			said.failure = tc.failure
			require.Equal(t, tc.want, soundness(said, killer{run: tc.run}))
		})
	}
}

func TestPatchesAreAppliedToCopies(t *testing.T) {
	tree, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(tree, "pkg", "intent", "prefix.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
	require.NoError(t, os.WriteFile(file, []byte("a\nb\nd\n"), 0o600))
	m, err := parse(good)
	require.NoError(t, err)

	in, overlay, err := plant(m, tree, dir)
	require.NoError(t, err)
	require.Equal(t, tree, in)
	copied := filepath.Join(dir, "tree", "pkg", "intent", "prefix.go")
	content, err := os.ReadFile(overlay)
	require.NoError(t, err)
	require.JSONEq(t, `{"Replace":{"`+file+`":"`+copied+`"}}`, string(content))
	for path, want := range map[string]string{file: "a\nb\nd\n", copied: "a\nc\nd\n"} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(content))
	}

	require.NoError(t, os.WriteFile(file, []byte("a\nx\nd\n"), 0o600))
	_, _, err = plant(m, tree, t.TempDir())
	require.ErrorContains(t, err, "patch does not apply")
}

// Nothing is run here: the command does that.
func TestEveryPatchHasAHeaderAndApplies(t *testing.T) {
	mutants, err := choose(".", options{section: "all"})
	require.NoError(t, err)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	for _, m := range mutants {
		dir := t.TempDir()
		require.NoError(t, copyFiles(root, dir, m.files))
		require.NoError(t, apply(m.text, dir), m.name)
	}
}

func TestTable(t *testing.T) {
	results := []result{
		{mutant: mutant{name: "ovn-a", what: "x", found: "planted"}, outcome: killed, by: killer{room: "./backends/ovn"}, detail: "TestA/sub"},
		{mutant: mutant{name: "intent-b", what: "y", found: "planted"}, outcome: survived},
		{mutant: mutant{name: "ovn-c", what: "z", found: "abc1234"}, outcome: uncompiled},
	}
	require.Equal(t, `ROOM      MUTANTS  KILLED  NOT KILLED
intent    1        0       1
ovn       2        1       1
together  3        1       2
`, table(results, "text"))
	require.Contains(t, table(results, "md"), "| ovn-a | x | planted | `./backends/ovn TestA` |\n| intent-b | y | planted | SURVIVED |\n")
}
