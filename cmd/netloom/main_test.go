package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// outcome is what a command did.
type outcome struct {
	code        int
	out, errout string
}

// netloom runs a command line within this process.
func netloom(t *testing.T, args ...string) outcome {
	t.Helper()
	for _, setting := range os.Environ() {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "NETLOOM_") {
			t.Setenv(name, value) // so that it comes back
			require.NoError(t, os.Unsetenv(name))
		}
	}
	read := redirect(t, &os.Stdout)
	readErr := redirect(t, &os.Stderr)
	code := run(t.Context(), args)
	return outcome{code, read(), readErr()}
}

// redirect makes a stream a file until what came is read.
func redirect(t *testing.T, stream **os.File) func() string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	require.NoError(t, err)
	before := *stream
	*stream = file
	restore := func() { *stream = before }
	t.Cleanup(restore)
	return func() string {
		restore()
		_, err := file.Seek(0, io.SeekStart)
		require.NoError(t, err)
		text, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		return string(text)
	}
}

// write puts a file into a directory.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

// manifests is a directory with two pods and policies for them.
func manifests(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "pods.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
status: {podIP: 10.244.0.10}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
status: {podIP: 10.244.0.20}
`)
	write(t, dir, "policies.yaml", policies(20))
	return dir
}

// policies returns n policies for the database, each for a client of its own and a port of its own.
func policies(n int) string {
	var b strings.Builder
	for i := range n {
		name := "client-" + string(rune('a'+i))
		b.WriteString(strings.ReplaceAll(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db-NAME, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress:
  - from: [{podSelector: {matchExpressions: [{key: app, operator: In, values: [web, NAME]}]}}]
    ports: [{port: 5432}]
---
`, "NAME", name))
	}
	return b.String()
}

// database is a Northbound database with ports for the pods of manifests.
func database(t *testing.T) *simulator.Server {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(server.Close)
	require.NoError(t, server.AddSwitch("sw"))
	require.NoError(t, server.AddPort("sw", "shop_web-0", nil))
	require.NoError(t, server.AddPort("sw", "shop_db-0", nil))
	require.NoError(t, server.Start("unix:"+filepath.Join(t.TempDir(), "nb")))
	return server
}

func TestApply(t *testing.T) {
	dir, server := manifests(t), database(t)
	args := []string{"apply", "--manifests", dir, "--ovn-nb", server.Addr()}

	got := netloom(t, append(args, "--dry-run")...)
	require.Equal(t, exitDiffers, got.code)
	require.Empty(t, got.errout, "that there is a difference is no error")
	require.Contains(t, got.out, "\n+ ACL ")
	require.Regexp(t, `\n\d+ operations in 1 transaction: create ACL ×\d+, `, got.out)
	require.Zero(t, server.Transactions())

	got = netloom(t, args...)
	require.Equal(t, outcome{exitDone, got.out, ""}, got)
	require.Regexp(t, `\n\d+ operations in 1 transaction: create ACL ×\d+, `, got.out)
	require.Equal(t, 1, server.Transactions())
	rows := server.Dump()
	require.Contains(t, rows, "addresses: 10.244.0.10\n")

	require.Equal(t, outcome{exitDone, "nothing to do\n", ""}, netloom(t, args...))
	require.Equal(t, outcome{exitDone, "nothing to do\n", ""}, netloom(t, append(args, "--dry-run")...))
	require.Equal(t, 1, server.Transactions())
	require.Equal(t, rows, server.Dump())
}

func TestApplyPrintsEveryProblem(t *testing.T) {
	dir, server := manifests(t), database(t)
	bad := strings.Replace(policies(2), "operator: In", "operator: Resembles", 1)
	write(t, dir, "policies.yaml", strings.Replace(bad, "port: 5432", "port: 99999", 2))
	write(t, dir, "torn.yaml", "a: [b\n")
	for _, extra := range [][]string{nil, {"--dry-run"}} {
		got := netloom(t, append([]string{"apply", "--manifests", dir, "--ovn-nb", server.Addr()}, extra...)...)
		require.Equal(t, exitCannotTell, got.code)
		for _, want := range []string{
			"policies.yaml: document 1: NetworkPolicy/shop/db-client-a: spec.ingress[0].from[0].podSelector.matchExpressions[0].operator: ",
			"policies.yaml: document 1: NetworkPolicy/shop/db-client-a: spec.ingress[0].ports[0].port: ",
			"policies.yaml: document 2: NetworkPolicy/shop/db-client-b: spec.ingress[0].ports[0].port: ",
			"torn.yaml: document 1: ",
		} {
			require.Contains(t, got.errout, want)
		}
		problems := strings.Count(got.errout, "problem: ")
		require.GreaterOrEqual(t, problems, 4)
		require.Contains(t, got.errout, "netloom: cannot tell: ")
	}
}

func TestApplyLoadsTheRestBesideAProblem(t *testing.T) {
	dir, server := manifests(t), database(t)
	write(t, dir, "policies.yaml", strings.Replace(policies(2), "port: 5432", "port: 99999", 1))
	got := netloom(t, "apply", "--manifests", dir, "--ovn-nb", server.Addr())
	require.Equal(t, exitCannotTell, got.code)
	require.Contains(t, server.Dump(), "netloom.io/name=db-client-b")
	require.NotContains(t, server.Dump(), "netloom.io/name=db-client-a")
}

func TestApplyReportsMissingPorts(t *testing.T) {
	dir, server := manifests(t), database(t)
	require.NoError(t, server.DeletePort("sw", "shop_db-0"))
	got := netloom(t, "apply", "--manifests", dir, "--ovn-nb", server.Addr())
	require.Equal(t, exitUnprotected, got.code, "none is protected")
	require.Contains(t, got.errout, "warning: 1 of 1 selected pods is NOT protected: shop/db-0 (no logical port shop_db-0)\n")
}

func TestApplyKeepsWhatIsMissing(t *testing.T) {
	dir, server := manifests(t), database(t)
	args := []string{"apply", "--manifests", dir, "--ovn-nb", server.Addr()}
	write(t, dir, "policies.yaml", policies(5))
	require.Equal(t, exitDone, netloom(t, args...).code)
	rows := server.Dump()
	server.Reset()
	require.NoError(t, os.Remove(filepath.Join(dir, "policies.yaml")))

	got := netloom(t, args...)
	require.Equal(t, exitCannotTell, got.code)
	require.Contains(t, got.errout, "kept: NetworkPolicy/shop/db-client-a in ovn")
	digest := regexp.MustCompile(`--approve ([0-9a-f]{12})`).FindStringSubmatch(got.errout)
	require.Len(t, digest, 2, got.errout)
	require.Zero(t, server.Transactions())
	require.Equal(t, rows, server.Dump())
	looked := netloom(t, append(args, "--dry-run")...)
	require.Equal(t, exitDiffers, looked.code)
	require.Contains(t, looked.out, "\n- Port_Group ", "what is kept can be looked at")

	got = netloom(t, append(args, "--approve", "0123456789ab")...)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "the missing objects are not the ones that were approved")
	require.Contains(t, got.errout, digest[1])
	require.Equal(t, rows, server.Dump())

	require.Equal(t, exitDone, netloom(t, append(args, "--approve", digest[1])...).code)
	require.NotContains(t, server.Dump(), "netloom.io")
	got = netloom(t, append(args, "--approve", digest[1])...)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "too few objects are missing to need approval")

	write(t, dir, "policies.yaml", policies(5))
	require.Equal(t, exitDone, netloom(t, args...).code)
	require.NoError(t, os.Remove(filepath.Join(dir, "policies.yaml")))
	require.Equal(t, exitDone, netloom(t, append(args, "--force")...).code)
	require.NotContains(t, server.Dump(), "netloom.io")
}

// TestApplyRemovesNothingWhileAFileCannotBeParsed loses one policy of many to a malformed file.
func TestApplyRemovesNothingWhileAFileCannotBeParsed(t *testing.T) {
	dir, server := manifests(t), database(t)
	args := []string{"apply", "--manifests", dir, "--ovn-nb", server.Addr()}
	write(t, dir, "policies.yaml", policies(5))
	write(t, dir, "one.yaml", strings.NewReplacer("db-client-a", "one", "5432", "6000").Replace(policies(1)))
	require.Equal(t, exitDone, netloom(t, args...).code)
	rows := server.Dump()
	write(t, dir, "one.yaml", "[a\nb")
	got := netloom(t, args...)
	require.Equal(t, exitCannotTell, got.code)
	require.Contains(t, got.errout, "kept: NetworkPolicy/shop/one in ovn")
	require.Contains(t, got.errout, "one.yaml: document 1")
	require.Equal(t, rows, server.Dump())
}

func TestPlansAreDataToo(t *testing.T) {
	dir, server := manifests(t), database(t)
	args := []string{"apply", "--manifests", dir, "--ovn-nb", server.Addr(), "--dry-run", "-o"}
	var fromJSON, fromYAML backends.Plan
	got := netloom(t, append(args, "json")...)
	require.Equal(t, exitDiffers, got.code)
	require.NoError(t, json.Unmarshal([]byte(got.out), &fromJSON), got.out)
	got = netloom(t, append(args, "yaml")...)
	require.Equal(t, exitDiffers, got.code)
	require.NoError(t, yaml.Unmarshal([]byte(got.out), &fromYAML))
	require.NotEmpty(t, fromJSON.Ops)
	require.Equal(t, fromJSON, fromYAML)
}

func TestApplySaysAllThatIsWrongWithItsCall(t *testing.T) {
	got := netloom(t, "apply", "--ovn-nb", "embedded", "-o", "xml")
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "netloom: -f: expected a directory of manifests, a file, or - for standard input\n"+
		"--ovn-nb: expected an address; an embedded target lasts only as long as the command\n"+
		"--output: \"xml\": expected table, json or yaml\n", got.errout)
	require.Empty(t, got.out)

	got = netloom(t, "apply", "--manifests", filepath.Join(t.TempDir(), "none"), "--ovn-nb", "unix:/none")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "none")
}

func TestSettingsArePrintedAndChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "netloom.yaml")
	require.NoError(t, os.WriteFile(file, []byte("owner: blue\nretry-max: 5s\n"), 0o600))
	t.Setenv("OUT_OF_SIGHT", "x")
	got := netloom(t, "run", "--config", file, "--ovn-nb", "tcp:127.0.0.1:6641", "--print-config")
	require.Equal(t, exitDone, got.code, got.errout)
	require.Regexp(t, `(?m)^owner: blue +# file .*netloom.yaml$`, got.out)
	require.Regexp(t, `(?m)^drift-interval: 5m0s +# default$`, got.out)
	require.Contains(t, got.out, "# flag --ovn-nb")
	var settings map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(got.out), &settings))
	require.Equal(t, "5s", settings["retry-max"])

	require.Equal(t, outcome{exitDone, "the configuration is valid\n", ""},
		netloom(t, "run", "--ovn-nb", "embedded", "--manifests", "x", "--check-config"))

	got = netloom(t, "run", "--owner", "A B", "--retry-min", "soon", "--max-delete-fraction", "7", "--check-config")
	require.Equal(t, exitFailed, got.code)
	require.Empty(t, got.out)
	for _, key := range []string{"owner (flag --owner): ", "retry-min (flag --retry-min): ", "max-delete-fraction (flag ", "ovn-nb (default): "} {
		require.Contains(t, got.errout, key)
	}
	require.Len(t, strings.Split(strings.TrimSpace(got.errout), "\n"), 4)
}

func TestCommandLines(t *testing.T) {
	for _, tc := range []struct {
		name      string
		args      []string
		code      int
		out, eout string
	}{
		{"version", []string{"version"}, exitDone, "go1.", ""},
		{"help", []string{"--help"}, exitDone, "netloom demo", ""},
		{"completion", []string{"completion", "bash"}, exitDone, "__start_netloom", ""},
		{"completion of values", []string{"__complete", "run", "--families", ""}, exitDone, "dual", "Completion ended"},
		{"completion of formats", []string{"__complete", "apply", "-o", ""}, exitDone, "yaml", "Completion ended"},
		{"an unknown flag", []string{"run", "--frobnicate"}, exitFailed, "", "netloom: unknown flag: --frobnicate"},
		{"an unknown command", []string{"frobnicate"}, exitFailed, "", `netloom: unknown command "frobnicate" for "netloom"`},
		{"a stray argument", []string{"version", "now"}, exitFailed, "", `netloom: unknown command "now"`},
		{"run without a database", []string{"run"}, exitFailed, "", "ovn-nb (default): "},
		{"apply without a database", []string{"apply"}, exitFailed, "", "ovn-nb (default): "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := netloom(t, tc.args...)
			require.Equal(t, tc.code, got.code, got.errout)
			require.Contains(t, got.out, tc.out)
			require.Contains(t, got.errout, tc.eout)
			require.NotContains(t, got.errout, "Usage:")
		})
	}
}

func TestDemoOnce(t *testing.T) {
	got := netloom(t, "demo", "--once", "--manifests", filepath.Join("..", "..", "examples"))
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.out, "Can A reach B?")
	require.NotContains(t, got.out, "\x1b[", "a file is no terminal")

	dir := manifests(t)
	write(t, dir, "probes.txt", "shop/web-0 -> shop/db-0 tcp/5432 deny\n")
	got = netloom(t, "demo", "--once", "--manifests", dir)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "netloom: 1 probes were not answered as expected\n")
}

func TestLogLinesAreJSONOutsideTerminals(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	got := netloom(t, "run", "--ovn-nb", "embedded", "--manifests", t.TempDir(), "--listen", taken.Addr().String(), "--debug-listen=")
	require.Equal(t, exitFailed, got.code)
	for line := range strings.Lines(got.errout) {
		if strings.HasPrefix(line, "netloom: ") {
			require.Contains(t, line, "serve: ")
			continue
		}
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		require.NotEmpty(t, entry[logrus.FieldKeyMsg])
	}
}
