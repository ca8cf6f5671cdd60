package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/test/policygen"
)

func TestTest(t *testing.T) {
	good := filepath.Join(exampleDir, "expectations.yaml")
	got := netloom(t, "test", "-f", exampleDir, good)
	require.Equal(t, exitDone, got.code, got.out)
	require.Empty(t, got.errout, "expectations beside manifests are no problem")
	require.Contains(t, got.out, "pass  only the API reaches the database\n")
	require.Contains(t, got.out, "7 passed, 0 failed, 62 connections checked\n")
	require.Equal(t, "7 passed, 0 failed, 62 connections checked\n", netloom(t, "test", "-q", "-f", exampleDir, good).out)

	bad := filepath.Join(t.TempDir(), "bad.yaml")
	write(t, filepath.Dir(bad), "bad.yaml", `
expectations:
- {name: "is <wrong>", from: shop/api-0, to: shop/db-0, ports: 5432, expect: deny}
- {name: is a typo, from: shop/api-0, to: shop/db-1, ports: 5432, expect: deny}
- {name: is right, from: shop/web-0, to: shop/db-0, ports: 5432, expect: deny}
`)
	got = netloom(t, "test", "-f", exampleDir, good, bad)
	require.Equal(t, exitCannotTell, got.code)
	require.Equal(t, "netloom: cannot tell: of 10 expectations, 1 cannot be evaluated and 1 are not met\n", got.errout)
	require.Contains(t, got.out, `FAIL  is <wrong>
      shop/api-0 -> shop/db-0 5432 deny
      expected deny, but not in 1 of 1 answer:
      allow   shop/api-0 -> shop/db-0 tcp/5432
        egress   allow   NetworkPolicy/shop/api spec.egress[0]
        ingress  allow   NetworkPolicy/shop/db spec.ingress[0]
FAIL  is a typo
      cannot be evaluated: to pod shop/db-1: not found; did you mean shop/db-0`)

	var files struct{ Files []checked }
	require.NoError(t, json.Unmarshal([]byte(netloom(t, "test", "-f", exampleDir, "-o", "json", good, bad).out), &files))
	require.Len(t, files.Files, 2)
	require.Equal(t, bad, files.Files[1].File)
	require.Equal(t, 2, files.Files[1].Failed)

	var report junitSuites
	require.NoError(t, xml.Unmarshal([]byte(netloom(t, "test", "-f", exampleDir, "-o", "junit", good, bad).out), &report))
	require.Equal(t, 10, report.Tests)
	require.Equal(t, 2, report.Failures)
	require.Equal(t, "is <wrong>", report.Suites[1].Cases[0].Name)
	require.Contains(t, report.Suites[1].Cases[0].Failure.Text, "allow   shop/api-0 -> shop/db-0 tcp/5432\n")
	require.Equal(t, "error", report.Suites[1].Cases[1].Failure.Type)
	require.Nil(t, report.Suites[1].Cases[2].Failure)
}

func TestTestSaysAllThatIsWrongWithItsFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "expectations: [{from: a/b, to: c/d, ports: 80, expect: maybe, because: I say so}]")
	write(t, dir, "b.yaml", "a: [b")
	got := netloom(t, "test", "-f", exampleDir, filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml"), filepath.Join(dir, "c.yaml"))
	require.Equal(t, exitFailed, got.code)
	for _, want := range []string{
		`a.yaml: unknown field "expectations[0].because"`, `a.yaml: expectations[0].expect: "maybe": expected allow, deny or refuse`,
		"b.yaml: yaml: line 1: ", "c.yaml: no such file",
	} {
		require.Contains(t, got.errout, want)
	}
	got = netloom(t, "test", "-f", exampleDir)
	require.Equal(t, "netloom: expected a file of expectations; docs/commands/test.md describes its format\n", got.errout)
}

// BenchmarkTestCommand is 500 expectations over 200 policies and 1000 pods, from the files on. Every second one is that
// something is let through, and all are met.
func BenchmarkTestCommand(b *testing.B) {
	dir := b.TempDir()
	cluster := policygen.Workload(1000)
	text, err := policygen.YAML(cluster)
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(dir, "manifests.yaml"), text, 0o600))
	file := &probe.Expectations{}
	for i := range 500 {
		from, to := cluster.Pods[i], cluster.Pods[999-i]
		e := probe.Expectation{
			From: probe.Words{from.Namespace + "/" + from.Name}, To: probe.Words{to.Namespace + "/" + to.Name},
			Ports: probe.Words{"tcp/80"}, Expect: probe.Deny,
		}
		if i%2 == 0 {
			e.From, e.Expect = probe.Words{fmt.Sprintf("10.1.%d.%d", i/200, i%200)}, probe.Allow
		}
		file.List = append(file.List, e)
	}
	expectations, err := json.Marshal(file)
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(dir, "expectations.txt"), expectations, 0o600))
	for b.Loop() {
		root := newRoot()
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs([]string{"test", "-f", dir, filepath.Join(dir, "expectations.txt")})
		require.NoError(b, root.ExecuteContext(b.Context()), out.String())
		require.Contains(b, out.String(), "500 passed, 0 failed, 500 connections checked")
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/run")
}
