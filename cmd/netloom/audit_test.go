package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/audit"
)

func TestAudit(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	taken := netloom(t, "audit", exampleDir, "-o", "json")
	require.Equal(t, exitDone, taken.code, taken.errout)
	snapshot := file("audit.json", taken.out)
	var report struct {
		APIVersion, Kind string
		audit.Report
	}
	require.NoError(t, json.Unmarshal([]byte(taken.out), &report))
	require.Equal(t, kindAudit, report.Kind)
	require.Equal(t, 7, report.Summary.Pods)
	require.Equal(t, taken.out, netloom(t, "audit", exampleDir, "-o", "json").out, "the same state")

	same := netloom(t, "audit", exampleDir, "--since", snapshot)
	require.Equal(t, exitDone, same.code, same.errout)
	require.Equal(t, "nothing changed\n", same.out)

	shop := filepath.Join(exampleDir, "shop")
	changed := netloom(t, "audit", shop, "--since", snapshot)
	require.Equal(t, exitDiffers, changed.code, changed.errout)
	require.Regexp(t, `(?m)^pod +monitoring/prometheus-0 +exists +yes +no$`, changed.out)
	require.Regexp(t, `(?m)^namespace +kube-system +exists +yes +no$`, changed.out)

	for form, want := range map[string]string{"csv": "kind,object,property,before,after\n", "html": "<h2>Changes</h2>", "json": `"kind": "AuditChanges"`} {
		got := netloom(t, "audit", shop, "--since", snapshot, "-o", form)
		require.Equal(t, exitDiffers, got.code, got.errout)
		require.Contains(t, got.out, want)
	}
	lines, err := csv.NewReader(strings.NewReader(netloom(t, "audit", exampleDir, "-o", "csv").out)).ReadAll()
	require.NoError(t, err)
	require.Contains(t, lines, []string{"pod", "shop", "web-0", "", "reached from outside", "world: tcp/8080"})
	require.Contains(t, netloom(t, "audit", exampleDir, "-o", "html").out, "<td>shop/web-0</td>")

	dated := file("dated.yaml", strings.Replace(guardedPod, "name: all,", `name: all, creationTimestamp: "2026-01-02T03:04:05Z",`, 1))
	require.Regexp(t, `(?m)^NetworkPolicy/shop/all +2026-01-02T03:04:05Z +1 +1 +1 pod$`, netloom(t, "audit", dated).out)

	for name, text := range map[string]string{
		"another kind": strings.Replace(taken.out, `"kind": "Audit"`, `"kind": "Impact"`, 1), "another version": strings.Replace(taken.out, answerVersion, "v2", 1),
		"no JSON": "x", "more": taken.out + "{}", "nothing": "",
	} {
		got := netloom(t, "audit", exampleDir, "--since", file("other.json", text))
		require.Equal(t, exitFailed, got.code, name)
		require.Contains(t, got.errout, "--since: ", name)
	}
}

func TestAuditOfNothingCannotTell(t *testing.T) {
	policies := filepath.Join(t.TempDir(), "policies.yaml")
	require.NoError(t, os.WriteFile(policies, []byte(ciPolicy), 0o600))
	for _, args := range [][]string{{"-f", policies}, {"-f", t.TempDir()}, {"-f", policies, "-o", "html"}} {
		got := netloom(t, append([]string{"audit"}, args...)...)
		require.Equal(t, exitCannotTell, got.code, got.out)
		require.Contains(t, got.errout, "cannot tell")
	}
}
