package scenario

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/script"
)

// Backend is a backend that scripts run on.
type Backend struct {
	Name    string
	Fresh   backendtest.Factory
	Scripts string // the names of its scripts, as a pattern of path.Match; "" means all
	Few     bool   // take two roads: another, similar backend takes them all, or each takes many requests
	// Partial accepts that SCTP with ports and some features of Services, which the backend cannot express, are denied and reported, and
	// leaves open how many writes a change takes, as there are no transactions.
	Partial bool
}

// runs reports whether the script of a name runs on b.
func (b *Backend) runs(name string) bool {
	matches, err := path.Match(b.Scripts, name)
	return b.Scripts == "" || err == nil && matches
}

// Run plays every script of a directory on every backend, along every road.
func Run(t *testing.T, dir string, backends ...Backend) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no scripts")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file) //nolint:gosec // the directory's own files
			require.NoError(t, err)
			s, err := script.Parse(string(content))
			require.NoError(t, err)
			moments, err := play(s)
			require.NoError(t, err)
			skipped, missed := map[string]bool{}, 0
			for _, b := range backends {
				if !b.runs(name) {
					continue
				}
				missed++
				t.Run(b.Name, func(t *testing.T) {
					missed--
					r := &run{
						title: s.Title, backend: b.Name, moments: moments, fresh: b.Fresh, few: b.Few, partial: b.Partial,
						dumps: make([]*string, len(moments)), skipped: skipped,
					}
					for _, m := range moments {
						r.problematic = r.problematic || len(m.problems) > 0
					}
					r.walk(t)
				})
			}
			if missed > 0 || t.Failed() {
				return // a backend that did not run may be the one that skips it
			}
			for _, m := range moments {
				for _, want := range m.skips {
					require.True(t, skipped[want], "no backend skips %q", want)
				}
			}
		})
	}
}

// run is one script on one backend.
type run struct {
	title       string
	backend     string // its name
	moments     []*moment
	fresh       backendtest.Factory
	few         bool      // as in Backend
	partial     bool      // likewise
	problematic bool      // some moment expects a problem
	dumps       []*string // the content of the target at each moment on the road as written; nil before
	// skipped is which of the expected skips some backend has reported; shared by the runs of a script.
	skipped map[string]bool
}

// check checks a moment that p has reached.
func (r *run) check(t *testing.T, p *process, i int) {
	t.Helper()
	m := r.moments[i]
	dump := p.target.Dump(t)
	if r.dumps[i] == nil {
		r.dumps[i] = &dump
	}
	// On the way back, the interfaces of pods of later moments are still there, and a load balancer leads to the one that has the address.
	if !r.partial || !p.back || !r.serves() {
		require.Equal(t, *r.dumps[i], dump, "line %d: %s: other rows than on the road as written", m.step.Line, m.step.Text)
	}
	problems := p.problems()
	if !r.problematic {
		require.Empty(t, problems)
	}
	for _, want := range m.problems {
		require.Contains(t, strings.Join(problems, "\n"), want)
	}
	r.checkSkips(t, p, m)
	for _, want := range m.rows {
		if r.partial && slices.ContainsFunc(p.skips, ofService) {
			continue
		}
		require.Contains(t, dump, want, "line %d: %s", m.step.Line, m.step.Text)
	}
	cluster := p.cluster(t)
	var wrong []string
	for i := range m.probes {
		probe := &m.probes[i]
		for _, f := range probe.flows {
			v := p.snapshot.Evaluate(f)
			o := cluster.Allowed(oracleFlow(f))
			byOracle, byIntents, byRows := ofOracle(o), ofIntents(v), ofRows(p.target.Verdict(t, f))
			excused := r.partial && (p.lacksPorts(f, byRows) || p.excuses(o, byOracle, byRows))
			if probe.meets(byOracle) && byOracle.equal(byIntents) && (byOracle.matches(byRows) || excused) {
				continue
			}
			wrong = append(wrong, fmt.Sprintf("line %d: %s: %s: the oracle says %s %q, the intents %s %v %v, the rows %v",
				probe.step.Line, probe.step.Text, backendtest.FlowText(f), byOracle, o.Why, byIntents,
				v.Egress.By, v.Ingress.By, byRows))
		}
	}
	if len(wrong) > 0 {
		require.Failf(t, r.title, "%s\nrows:\n%s", strings.Join(wrong, "\n"), dump)
	}
}

// checkSkips checks what the backend cannot express: nothing, or what the script expects. A backend may support what
// another one skips.
func (r *run) checkSkips(t *testing.T, p *process, m *moment) {
	t.Helper()
	for _, skip := range p.skips {
		if r.partial && (strings.Contains(skip, portsOfSCTP) || ofService(skip)) {
			continue
		}
		expected := func(want string) bool { return strings.Contains(skip, want) }
		require.True(t, slices.ContainsFunc(r.expectedSkips(), expected), "line %d: %s: unexpected skip: %s",
			m.step.Line, m.step.Text, skip)
	}
	for _, want := range m.skips {
		if strings.Contains(strings.Join(p.skips, "\n"), want) {
			r.skipped[want] = true
		}
	}
}

// expectedSkips is every skip that the script expects.
func (r *run) expectedSkips() []string {
	var all []string
	for _, m := range r.moments {
		all = append(all, m.skips...)
	}
	return all
}

// serves reports whether the script has Services or ServiceImports.
func (r *run) serves() bool {
	for _, m := range r.moments {
		for ref := range m.objects {
			if ref.Kind == object.KindService || ref.Kind == object.KindServiceImport {
				return true
			}
		}
	}
	return false
}

// ofService reports whether a skip is about a Service or a ServiceImport.
func ofService(skip string) bool {
	return strings.HasPrefix(skip, "{"+object.KindService+"/") || strings.HasPrefix(skip, "{"+object.KindServiceImport+"/")
}

// portsOfSCTP is in the reason for which a backend skips SCTP with ports.
const portsOfSCTP = "ports of SCTP"

// lacksPorts reports whether the backend denies a flow, because it cannot match ports of SCTP and says so.
func (p *process) lacksPorts(f intent.Flow, rows judgement) bool {
	says := func(skip string) bool { return strings.Contains(skip, portsOfSCTP) }
	return f.Protocol == intent.SCTP && rows.outcome == deny && slices.ContainsFunc(p.skips, says)
}

// excuses reports whether the backend skips the Service, and admits no flow that the oracle denies.
func (p *process) excuses(v oracle.Verdict, want, native judgement) bool {
	skipped := func(skip string) bool {
		return v.Service != "" && ofService(skip) && strings.Contains(skip, "/"+v.Service+" ")
	}
	if !slices.ContainsFunc(p.skips, skipped) {
		return false
	}
	for _, c := range native.choices {
		if c.allowed && !slices.Contains(want.choices, c) {
			return false
		}
	}
	return true
}
