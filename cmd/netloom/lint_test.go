package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/lint"
)

var mistaken = filepath.Join("..", "..", "docs", "commands", "mistakes.yaml")

// lintFile writes a file and has lint judge it.
func lintFile(t *testing.T, content string, args ...string) outcome {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	got := netloom(t, append([]string{"lint", "-f", path}, args...)...)
	got.out = strings.ReplaceAll(got.out, path, "a.yaml")
	return got
}

// guardedPod is a pod and a policy that lint has nothing to say about.
const guardedPod = `apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {app: a}}
status: {podIP: 10.0.0.1}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: all, namespace: shop}
spec: {podSelector: {}, policyTypes: [Ingress, Egress], egress: [{to: [{namespaceSelector: {}}], ports: [{port: 53, protocol: UDP}]}]}
`

func TestLintExitCodes(t *testing.T) {
	policy := func(head, spec string) string {
		return guardedPod + "---\n" + head + "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x, namespace: shop}\nspec: " + spec + "\n"
	}
	const open = `{podSelector: {}, ingress: [{}]}`
	for _, tc := range []struct {
		name, content string
		args          []string
		code          int
		out           string
	}{
		{"nothing", guardedPod, nil, exitDone, "no finding; 1 policy judged by 1 pod\n"},
		{
			"a warning", policy("", open), nil, exitDiffers,
			"a.yaml:14: warning: NetworkPolicy/shop/x: spec.ingress[0]: admits every pod and every address to any of 1 pod [allow-from-anywhere]\n1 warning; 2 policies judged by 1 pod\n",
		},
		{"a warning below the limit", policy("", open), []string{"--fail-on", "error"}, exitDone, "a.yaml:14: warning"},
		{"never", policy("", open), []string{"--fail-on", "never"}, exitDone, "a.yaml:14: warning"},
		{"a rule that is left out", policy("", open), []string{"--skip", lint.AllowFromAnywhere}, exitDone, "no finding"},
		{"ignored with a reason", policy("# netloom:ignore allow-from-anywhere it is public\n", open), nil, exitDone, "1 ignored; 2 policies"},
		{
			"ignored without one", policy("# netloom:ignore allow-from-anywhere\n", open), nil, exitDiffers,
			"a.yaml:11: warning: allow-from-anywhere: expected a reason after the rule [invalid-ignore]\n",
		},
		{
			"an ignore that ignores nothing", policy("# netloom:ignore no-dns it has none\n", open),
			[]string{"--skip", lint.AllowFromAnywhere},
			exitDiffers,
			"a.yaml:11: warning: no-dns: no such finding here [unused-ignore]\n",
		},
		{"by an annotation", strings.Replace(policy("", open), "name: x, namespace: shop}",
			"name: x, namespace: shop, annotations: {netloom.io/lint-ignore: allow-from-anywhere it is public}}", 1), nil, exitDone, "1 ignored"},
		{"a problem", policy("", `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: x}}]}]}`), []string{"--fail-on", "never"}, exitCannotTell, "[not-understood]\n"},
		{"no pods", strings.SplitAfterN(guardedPod, "---\n", 2)[1], []string{"--fail-on", "never"}, exitCannotTell, "judged by 0 pods"},
		{"an unknown rule", guardedPod, []string{"--skip", "x"}, exitFailed, ""},
		{"an unknown severity", guardedPod, []string{"--fail-on", "x"}, exitFailed, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := lintFile(t, tc.content, tc.args...)
			require.Equal(t, tc.code, got.code, got.out+got.errout)
			require.Contains(t, got.out, tc.out)
		})
	}
}

func TestLintAsData(t *testing.T) {
	var report struct {
		APIVersion, Kind string
		lint.Report
	}
	got := netloom(t, "lint", mistaken, "-o", "json")
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Equal(t, "LintReport", report.Kind)
	require.NotEmpty(t, report.APIVersion)
	require.NotEmpty(t, report.Findings)

	var log sarifLog
	require.NoError(t, json.Unmarshal([]byte(netloom(t, "lint", mistaken, "-o", "sarif").out), &log))
	run := log.Runs[0]
	require.Len(t, run.Tool.Driver.Rules, len(lint.Rules()))
	require.Len(t, run.Results, len(report.Findings))
	suppressed := 0
	for i, r := range run.Results {
		f := report.Findings[i]
		require.Equal(t, f.Rule, r.RuleID)
		require.Equal(t, f.Place.Line, r.Locations[0].Physical.Region.StartLine)
		if f.Ignored != "" {
			suppressed++
			require.Equal(t, []sarifSuppression{{"inSource", f.Ignored}}, r.Suppressions)
		}
	}
	require.Equal(t, 1, suppressed)
}

// TestLintDocListsTheRules compares the page with the rules.
func TestLintDocListsTheRules(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "commands", "lint.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var table strings.Builder
	table.WriteString("| rule | severity | what is wrong |\n|---|---|---|\n")
	for _, r := range lint.Rules() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.ID, r.Severity, r.Doc)
	}
	begin, end := strings.Index(string(text), "| rule |"), strings.Index(string(text), "\n**Redundant**")
	require.Positive(t, begin)
	if *update {
		now := string(text[:begin]) + table.String() + string(text[end:])
		require.NoError(t, os.WriteFile(path, []byte(now), 0o600))
		return
	}
	require.Equal(t, table.String(), string(text[begin:end]), "make golden rewrites it")
	rules := netloom(t, "lint", "--rules").out
	for _, r := range lint.Rules() {
		require.Contains(t, rules, r.ID+" ("+r.Severity.String()+")\n  "+r.Doc+"\n  "+r.Remedy+"\n")
	}
}

// TestAnObjectThatIsDeclaredTwice has the same policy and the same workload in two files, and the policy twice in one.
func TestAnObjectThatIsDeclaredTwice(t *testing.T) {
	const workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}}\n"
	dir := t.TempDir()
	write(t, dir, "a.yaml", denyDatabase+"---\n"+workload+"---\n"+denyDatabase)
	write(t, dir, "b.yaml", "---\n"+workload+"---\n"+denyDatabase)
	got := netloom(t, "lint", "-f", dir)
	require.Equal(t, exitCannotTell, got.code)
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	for _, line := range []string{
		a + ":13: error: NetworkPolicy/shop/db: also declared in " + a + ": document 1, which is in force",
		b + ":2: error: Deployment/shop/web: also declared in " + a + ": document 2, which is in force",
		b + ":8: error: NetworkPolicy/shop/db: also declared in " + a + ": document 1, which is in force",
	} {
		require.Contains(t, got.out, line)
	}
	require.Contains(t, got.out, "3 errors")
	require.Equal(t, exitCannotTell, netloom(t, "probe", "-f", dir, "shop/web->shop/web:80").code, "another Deployment may be meant")
}
