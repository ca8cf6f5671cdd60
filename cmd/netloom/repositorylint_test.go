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

// repository is a directory below test/repositories, in the shape of public ones.
type repository struct {
	name, shape string
	code        int // of lint
}

func repositories() []repository {
	return []repository{
		{"chart", "a Helm chart with values and templates: it has to be rendered", exitCannotTell},
		{"delivery", "controllers that sync clusters, with kustomizations and CI files", exitDone},
		{"gitops", "an installation with its own policies, and applications that it deploys", exitDiffers},
		{"monitoring", "an operator, and pods that it creates for custom resources", exitDiffers},
		{"notebooks", "a platform of notebooks, whose pods a controller creates", exitDiffers},
		{"operators", "custom resources of databases, brokers, functions and rollouts", exitDiffers},
		{"overlays", "a base with overlays and patches of two forms", exitDone},
		{"pipelines", "pipelines whose objects have generated names", exitDone},
		{"recipes", "policies as in a cookbook", exitDiffers},
		{"rendered", "the output of helm template, with a test pod", exitDone},
		{"shop", "a shop of a dozen services", exitDiffers},
		{"storage", "a storage system whose manager creates pods by itself", exitDone},
	}
}

// TestLintOfRepositories lints each repository. test/repositories/README.md lists what it finds, each of which was read and is right: -update
// writes it.
func TestLintOfRepositories(t *testing.T) {
	root := filepath.Join("..", "..", "test", "repositories")
	dirs, err := filepath.Glob(filepath.Join(root, "*", "*"))
	require.NoError(t, err)
	known := map[string]bool{}
	var text strings.Builder
	text.WriteString(repositoriesHead)
	for _, r := range repositories() {
		known[r.name] = true
		got := netloom(t, "lint", "-f", filepath.Join(root, r.name), "-o", "json")
		require.Equal(t, r.code, got.code, "%s: %s%s", r.name, got.out, got.errout)
		var report lint.Report
		require.NoError(t, json.Unmarshal([]byte(got.out), &report))
		fmt.Fprintf(&text, "\n## %s\n\n%s%s; exit code %d.\n", r.name, strings.ToUpper(r.shape[:1]), r.shape[1:], r.code)
		if len(report.Findings) > 0 {
			text.WriteString("\n| where | severity | rule | finding |\n|---|---|---|---|\n")
		}
		for i := range report.Findings {
			f := &report.Findings[i]
			place, severity := strings.TrimPrefix(f.Place.String(), root+"/"), f.Severity.String()
			if f.Ignored != "" {
				severity = "ignored"
			}
			if path := f.Ref.Path(); path != "/" {
				place = strings.TrimSpace(place + " " + path)
			}
			fmt.Fprintf(&text, "| %s | %s | `%s` | %s |\n", place, severity, f.Rule, f.Text())
		}
	}
	for _, dir := range dirs {
		require.True(t, known[filepath.Base(filepath.Dir(dir))], "%s is in no table", dir)
	}
	path := filepath.Join(root, "README.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String(), "to write it: go test ./cmd/netloom -run TestLintOfRepositories -update")
}

const repositoriesHead = `# Repositories

Manifests in the shapes of public repositories, written for the tests: nothing of those is copied. ` + "`netloom lint -f DIR`" + ` finds what the
tables list, and nothing else; each finding is right, or would be a defect of lint. Values of charts, patches, settings of CI and dashboards
are in a note, not in the tables.
`
