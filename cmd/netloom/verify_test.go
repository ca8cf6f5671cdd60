package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/test/await"
)

// unpack writes a compressed fixture of pkg/answers/verify to a directory.
func unpack(t *testing.T, dir, name string) string {
	t.Helper()
	file, err := os.Open(filepath.Join("../../pkg/answers/verify/testdata", name+".gz"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	r, err := gzip.NewReader(file)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	path := filepath.Join(dir, filepath.Base(name))
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func TestVerifyADump(t *testing.T) {
	dir := t.TempDir()
	args := []string{"verify", "-f", unpack(t, dir, "kube-ovn/cluster.yaml"), "--nb-dump", unpack(t, dir, "kube-ovn/nb-broken-2.json")}

	got := netloom(t, args...)
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, `closes ops/job-a -> shop/web-a, shop/web-b  (IPv6): tcp/8080-8090
    for example ops/job-a (fd00:10:16::32) -> shop/web-a (fd00:10:16::11) tcp/8080
    ingress is decided by ACL 3c29e9e5-ac84-4ee4-a8d6-f1f8f0e2032c, shop/web-from-ops-range: tier 2, priority 2000, drop
      outport == @web.from.ops.range.shop && ip
      written for NetworkPolicy/shop/web-from-ops-range
    should be allowed by NetworkPolicy/shop/web-from-ops-range
`)
	require.Contains(t, got.out, "\ndiffers: 5 groups opened, 3 groups closed\n")

	got = netloom(t, append(args, "-o", "json")...)
	require.Equal(t, exitDiffers, got.code)
	var report struct {
		APIVersion, Kind string
		Opens, Closes    int
		Findings         []struct {
			Effect, Traffic, Example string
			ACLs                     []struct{ Direction, UUID, Origin string }
			Policies                 []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Equal(t, "cli.netloom.io/v1alpha1 Verification", report.APIVersion+" "+report.Kind)
	require.Equal(t, []int{5, 3, 8}, []int{report.Opens, report.Closes, len(report.Findings)})
	require.Equal(t, "NetworkPolicy/shop/db-from-back-not-web", report.Findings[0].ACLs[0].Origin)

	require.Equal(t, exitFailed, netloom(t, append(args, "--ovn-nb", "unix:x")...).code, "two databases")
	require.Equal(t, exitFailed, netloom(t, "verify", "-f", args[2]).code, "no database")
	require.Equal(t, exitFailed, netloom(t, append(args, "--interval", "1ms")...).code, "too often")
}

// TestVerifyOwnRows compares the rows of netloom itself, in a database that is written before.
func TestVerifyOwnRows(t *testing.T) {
	dir, server := manifests(t), database(t)
	target := []string{"-f", dir, "--ovn-nb", server.Addr()}
	require.Equal(t, exitDiffers, netloom(t, append([]string{"verify"}, target...)...).code)
	require.Equal(t, exitDone, netloom(t, append([]string{"apply"}, target...)...).code)
	before := server.Transactions()
	got := netloom(t, append([]string{"verify"}, target...)...)
	require.Equal(t, exitDone, got.code, got.out+got.errout)
	require.Equal(t, "agrees: the connections of 2 pods match the policies\n", got.out)
	require.Equal(t, before, server.Transactions(), "nothing is written")
}

// TestSentinelExample checks that the example may read everything that verify reads, and may write nothing.
func TestSentinelExample(t *testing.T) {
	text, err := os.ReadFile("../../deploy/examples/sentinel/sentinel.yaml")
	require.NoError(t, err)
	allowed := map[string]bool{}
	var args []string
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		var deployment appsv1.Deployment
		require.NoError(t, yaml.Unmarshal([]byte(document), &role))
		require.NoError(t, yaml.Unmarshal([]byte(document), &deployment))
		for _, rule := range role.Rules {
			require.Equal(t, []string{"get", "list", "watch"}, rule.Verbs)
			for _, resource := range rule.Resources {
				allowed[rule.APIGroups[0]+"/"+resource] = true
			}
		}
		for _, c := range deployment.Spec.Template.Spec.Containers {
			args = c.Args
		}
	}
	read := source.Options{NoServices: true, Questions: true}
	for _, r := range append(source.Resources(), source.QuestionResources()...) {
		if !r.SDWAN && read.Wants(r.Kind) {
			require.True(t, allowed[r.Version.Group+"/"+r.Plural], r.Kind)
		}
	}
	require.Equal(t, "verify", args[0])
	require.NoError(t, newVerify().ParseFlags(args[1:]))
}

// TestVerifyKeepsWatching compares again and again while somebody removes the ACLs of a policy, and reads the metrics.
func TestVerifyKeepsWatching(t *testing.T) {
	dir, server := t.TempDir(), database(t)
	write(t, dir, "denied.yaml", servedPods+"---"+denyDatabase)
	nb := []string{"--ovn-nb", server.Addr()}
	require.Equal(t, exitDone, netloom(t, append([]string{"apply", "-f", dir}, nb...)...).code)

	self, err := os.Executable()
	require.NoError(t, err)
	listen := freePorts(t, 1)[0]
	args := append([]string{"verify", "--watch", "--interval", "1s", "--listen", listen, "-f", dir}, nb...)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	agrees, opens := make(chan struct{}), make(chan struct{})
	first := &awaited{text: "agree", interrupt: func() { close(agrees) }}
	second := &awaited{text: "opens ", interrupt: func() { close(opens) }}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(first, second), io.Discard
	require.NoError(t, cmd.Start())
	wait := func(c <-chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-await.Context(t).Done():
			require.Fail(t, "nothing was printed", first.String())
		}
	}
	wait(agrees)
	require.Contains(t, metricsOf(t, listen), "netloom_verify_disagreements{effect=\"opens\"} 0\n")

	without := t.TempDir()
	write(t, without, "pods.yaml", servedPods)
	require.Equal(t, exitDone, netloom(t, append([]string{"apply", "-f", without, "--force"}, nb...)...).code)
	wait(opens)
	require.Contains(t, metricsOf(t, listen), "netloom_verify_disagreements{effect=\"opens\"} 1\n")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // its code is judged
	require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
}

func metricsOf(t *testing.T, address string) string {
	t.Helper()
	text, err := request(t.Context(), http.DefaultClient, http.MethodGet, "http://"+address+"/metrics")
	require.NoError(t, err)
	return string(text)
}
