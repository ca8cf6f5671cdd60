package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// makefile is what the commands of the README need of the Makefile: variables that are set to text, and rules. The tests need
// nothing but Go, so they cannot ask make. .ci/run does what a reader would.
type makefile struct {
	vars  map[string]string
	rules map[string]rule
}

type rule struct {
	needs  []string
	recipe []string
}

var (
	assignment = regexp.MustCompile(`^(?:export )?([A-Za-z_]+)\s*[:?]?=\s*(.*)$`)
	target     = regexp.MustCompile(`^([a-z0-9-]+):([^=#]*)(?:##.*)?$`)
	reference  = regexp.MustCompile(`\$\(([A-Za-z_]+)\)`)
	call       = regexp.MustCompile(`\$\([a-z]+ [^()]*(?:\([^()]*\)[^()]*)*\)`)
)

func readMakefile(t *testing.T) *makefile {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	m := &makefile{map[string]string{}, map[string]rule{}}
	name := ""
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		line = strings.TrimRight(line, "\n")
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			r := m.rules[name]
			r.recipe = append(r.recipe, strings.TrimLeft(recipe, "@\t "))
			m.rules[name] = r
			continue
		}
		name = ""
		if found := assignment.FindStringSubmatch(line); found != nil {
			m.vars[found[1]] = found[2]
		} else if found := target.FindStringSubmatch(line); found != nil {
			name = found[1]
			m.rules[name] = rule{needs: strings.Fields(found[2])}
		}
	}
	return m
}

// expand replaces variables by their values, and functions of make by nothing.
func (m *makefile) expand(text string) string {
	for range 5 {
		text = reference.ReplaceAllStringFunc(text, func(r string) string { return m.vars[r[2:len(r)-1]] })
		text = call.ReplaceAllString(text, "")
	}
	return strings.ReplaceAll(text, "$$", "$")
}

// commands returns what make runs for a target, with the variables that its command line sets.
func (m *makefile) commands(t *testing.T, name string, set map[string]string) []string {
	t.Helper()
	r, ok := m.rules[name]
	require.True(t, ok, "the Makefile has no target %s", name)
	for k, v := range set {
		m.vars[k] = v
	}
	var all []string
	for _, need := range r.needs {
		if strings.HasPrefix(need, "$") {
			continue // a file
		}
		all = append(all, m.commands(t, need, nil)...)
	}
	for _, line := range r.recipe {
		all = append(all, m.expand(line))
	}
	return all
}

func TestCommandsOfTheMakefile(t *testing.T) {
	m := readMakefile(t)
	build := "go build -tags kustomize_disable_go_plugin_support -ldflags '' -o bin/netloom ./cmd/netloom"
	require.Equal(t, []string{build}, m.commands(t, "build", nil))
	require.Equal(t, []string{build, "bin/netloom demo --once"}, m.commands(t, "demo", map[string]string{"ARGS": "--once"}))
	tests := m.commands(t, "test", nil)
	require.Len(t, tests, 1)
	require.Regexp(t, `^go test -p 4 .*\./\.\.\.$`, tests[0])
}
