package bench

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

var (
	formPods  = flag.Int("forms.pods", 200, "pods of the workload for which forms of rows are compared")
	formStorm = flag.Int("forms.storm", 400, "changes of the storm for which forms of rows are compared")
)

// whole renders the rules of NetworkPolicies without their parts: an ACL for each rule, whose peers are one set. See ADR 25.
func whole(s *intent.Snapshot) *intent.Snapshot {
	b := s.Variant()
	for p := range s.Policies() {
		b.PutPolicy(p.Whole())
	}
	return b.Commit()
}

// inParts renders what netloom does.
func inParts(s *intent.Snapshot) *intent.Snapshot { return s }

// formRig writes the rows of a form to a database of its own.
type formRig struct {
	*rig

	form func(*intent.Snapshot) *intent.Snapshot
}

func newFormRig(t testing.TB, form func(*intent.Snapshot) *intent.Snapshot, c *oracle.Cluster) *formRig {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	r := &formRig{newRig(t, server.Addr()), form}
	makePorts(t, r.client, c)
	r.load(t, c)
	return r
}

func (r *formRig) snapshot() *intent.Snapshot { return r.form(r.translator.Snapshot()) }

// write writes what differs.
func (r *formRig) write(t testing.TB) *backends.Plan {
	t.Helper()
	plan, err := r.backend.Plan(t.Context(), r.snapshot(), 0)
	require.NoError(t, err)
	if !plan.Empty() {
		require.NoError(t, r.backend.Apply(t.Context(), plan))
	}
	return plan
}

// written counts the rows of writes, and the bytes of their operations.
type written struct {
	flips int
	all   []int
	bytes int
}

func (w *written) add(t testing.TB, p *backends.Plan) {
	t.Helper()
	w.flips++
	w.all = append(w.all, len(p.Ops))
	w.bytes += size(t, p)
}

// report reports the rows of the median and the largest write, and the bytes of one.
func (w *written) report(b *testing.B, what string) {
	b.Helper()
	slices.Sort(w.all)
	b.ReportMetric(float64(w.all[len(w.all)/2]), what+"-rows/op")
	b.ReportMetric(float64(w.all[len(w.all)-1]), what+"-rows-most/op")
	b.ReportMetric(float64(w.bytes)/float64(w.flips), what+"-B/op")
}

// BenchmarkRowForms compares rules as they are written, in parts, with rules as a whole: how many ACLs there are, how many rows a changed
// label and a storm of relabels write, and how many flows a chassis has. The figures of ADR 25 are for -forms.pods=1000
// -forms.storm=4000.
func BenchmarkRowForms(b *testing.B) {
	const perNode = 20
	cluster := policygen.Workload(*formPods)
	for i, p := range cluster.Pods {
		p.Spec.NodeName = fmt.Sprintf("n%d", i%(len(cluster.Pods)/perNode))
	}
	for name, form := range map[string]func(*intent.Snapshot) *intent.Snapshot{"whole": whole, "parts": inParts} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				measureForm(b, form, cluster)
			}
		})
	}
}

func measureForm(b *testing.B, form func(*intent.Snapshot) *intent.Snapshot, cluster *oracle.Cluster) {
	b.Helper()
	r := newFormRig(b, form, cluster)
	b.ReportMetric(float64(created(r.write(b))["ACL"]), "ACLs")
	estimate := ovn.NewExplainer(r.client.Schema(), ovn.Naming{Owner: "bench"}).Estimate(r.snapshot())
	flows := slices.Sorted(maps.Values(estimate.Flows))
	b.ReportMetric(float64(flows[len(flows)/2]), "flows/chassis")
	for _, key := range []string{"app", "tier"} {
		var w written
		for i := 3; i < len(cluster.Pods); i += len(cluster.Pods)/40 + 1 {
			pod := cluster.Pods[i]
			other := cluster.Pods[(i+7*policygen.WorkloadNamespaces)%len(cluster.Pods)]
			require.NoError(b, r.translator.Put(relabel(pod, key, other.Labels[key])))
			w.add(b, r.write(b))
			require.NoError(b, r.translator.Put(pod))
			r.write(b)
		}
		w.report(b, key)
	}
	const window = 100
	var w written
	for i := range *formStorm {
		storm(b, r.rig, cluster, i)
		if i%window == window-1 {
			w.add(b, r.write(b))
		}
	}
	total := 0
	for _, n := range w.all {
		total += n
	}
	b.ReportMetric(float64(total), "storm-rows")
	b.ReportMetric(float64(w.bytes), "storm-B")
}
