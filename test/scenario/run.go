package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
)

// Backend is a backend that scripts run on.
type Backend struct {
	Name  string
	Fresh backendtest.Factory
}

// Run plays every script of a directory on every backend, along every road.
func Run(t *testing.T, dir string, backends ...Backend) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, paths, "no scripts")
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(path) //nolint:gosec // the directory's own files
			require.NoError(t, err)
			s, err := parse(string(content))
			require.NoError(t, err)
			moments, err := play(s)
			require.NoError(t, err)
			for _, b := range backends {
				t.Run(b.Name, func(t *testing.T) {
					r := &run{title: s.title, moments: moments, fresh: b.Fresh, dumps: make([]string, len(moments))}
					for _, m := range moments {
						r.problematic = r.problematic || len(m.problems) > 0
					}
					r.walk(t)
				})
			}
		})
	}
}

// run is one script on one backend.
type run struct {
	title       string
	moments     []*moment
	fresh       backendtest.Factory
	problematic bool     // some moment expects a problem
	dumps       []string // what the target held at each moment on the road as written
}

// check looks at a moment that p has reached.
func (r *run) check(t *testing.T, p *process, i int) {
	t.Helper()
	m := r.moments[i]
	if r.dumps[i] == "" {
		r.dumps[i] = p.target.Dump(t) + "."
	}
	require.Equal(t, r.dumps[i], p.target.Dump(t)+".", "line %d: %s: other rows than on the road as written",
		m.step.line, m.step.text)
	problems := p.problems()
	if !r.problematic {
		require.Empty(t, problems)
	}
	for _, want := range m.problems {
		require.Contains(t, strings.Join(problems, "\n"), want)
	}
	cluster := p.cluster()
	var wrong []string
	for _, probe := range m.probes {
		for _, f := range probe.flows {
			o, v, native := cluster.Allowed(oracleFlow(f)), p.snapshot.Evaluate(f), p.target.Verdict(t, f)
			if o.Allowed == probe.allow && v.Allowed == probe.allow && native == probe.allow {
				continue
			}
			wrong = append(wrong, fmt.Sprintf("line %d: %s: %s: expected %s, the oracle says %s %q, the intents %s %v %v, the rows %s",
				probe.step.line, probe.step.text, backendtest.FlowText(f), word(probe.allow),
				word(o.Allowed), o.Why, word(v.Allowed), v.Egress.By, v.Ingress.By, word(native)))
		}
	}
	if len(wrong) > 0 {
		require.Failf(t, r.title, "%s\nrows:\n%s", strings.Join(wrong, "\n"), p.target.Dump(t))
	}
}

func word(allow bool) string {
	if allow {
		return "allow"
	}
	return "deny"
}
