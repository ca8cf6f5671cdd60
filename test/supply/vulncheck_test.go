package supply

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// check runs the script on this package, with a database.
func check(t *testing.T, database string) (status int, said string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "govulncheck")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "golang.org/x/vuln/cmd/govulncheck").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "./vulncheck", program, database, ".").CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(out)
}

// database writes one that knows of these vulnerable packages of the standard library.
func database(t *testing.T, packages ...string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, content any) {
		t.Helper()
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type m = map[string]any
	modules, vulns := []m{}, []m{}
	for _, p := range packages {
		const id, at = "GO-2026-0001", "2026-01-01T00:00:00Z"
		modules = append(modules, m{"path": "stdlib", "vulns": []m{{"id": id, "modified": at}}})
		vulns = append(vulns, m{"id": id, "modified": at})
		write("ID/"+id+".json", m{"schema_version": "1.3.1", "id": id, "modified": at, "published": at, "summary": "made up", "database_specific": m{"url": "https://example.test/" + id}, "affected": []m{{
			"package": m{"name": "stdlib", "ecosystem": "Go"}, "ranges": []m{{"type": "SEMVER", "events": []m{{"introduced": "0"}}}},
			"ecosystem_specific": m{"imports": []m{{"path": p, "symbols": []string{"ReadFile"}}}},
		}}})
	}
	write("index/db.json", m{"modified": "2026-01-01T00:00:00Z"})
	write("index/modules.json", modules)
	write("index/vulns.json", vulns)
	return "file://" + dir
}

func TestVulncheck(t *testing.T) {
	for _, tc := range []struct {
		name, database string
		status         int
		said           string
	}{
		{"nothing is known", database(t), 0, "No vulnerabilities found"},
		{"what is called is vulnerable", database(t, "os"), 3, "GO-2026-0001"},
		{"there is no database", "http://127.0.0.1:1", 75, "NOTHING HAS BEEN LOOKED AT"},
	} {
		status, said := check(t, tc.database)
		if status != tc.status || !strings.Contains(said, tc.said) {
			t.Errorf("%s: status %d, want %d:\n%s", tc.name, status, tc.status, said)
		}
	}
}
