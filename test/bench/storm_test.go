package bench

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/pkg/reconcile"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

var stormPods = flag.Int("storm.pods", 2000, "pods of the cluster in which namespaces are relabelled")

// held is a backend whose writes wait until the gate is open, as those of a slow target do.
type held struct {
	*ovn.Backend

	gate chan struct{}
}

func (h held) Apply(ctx context.Context, p *backends.Plan) error {
	select {
	case <-h.gate:
	case <-ctx.Done():
	}
	return h.Backend.Apply(ctx, p)
}

// most is an observer of the plans from changes: how many there were, and the most operations and changes in one of them.
type most struct {
	reconcile.Observers

	plans, ops, changes int
}

func (m *most) Planned(_ string, p *backends.Plan, _ time.Duration) {
	if !p.Full {
		m.plans, m.ops = m.plans+1, max(m.ops, len(p.Ops))
	}
}

// Round counts what one round handled.
func (m *most) Round(_ string, r *reconcile.Round) { m.changes = max(m.changes, r.Changes) }

// TestStormCausesNoReadBack relabels namespaces and pods thousands of times while the target is busy with one write, far more than
// a snapshot remembers. The next plans must be made from what differs, and between two commits no plan may have more than opsOfRound operations,
// nor handle more than changesOfRound sets, policies and so on.
func TestStormCausesNoReadBack(t *testing.T) {
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	cluster := policygen.Workload(*stormPods)
	r := newRig(t, server.Addr())
	makePorts(t, r.client, cluster)
	r.load(t, cluster)
	r.sync(t) // quicker than through a loop: what the loop finds at its start is complete

	const target = "ovn"
	observer := metrics.New()
	observer.Target(target)
	latest := make(chan *intent.Snapshot, 1)
	latest <- r.translator.Snapshot()
	newest := func() *intent.Snapshot { s := <-latest; latest <- s; return s }
	gate, plans := make(chan struct{}), &most{}
	loop := reconcile.New(held{r.backend, gate}, newest, reconcile.Options{Target: target, Observer: reconcile.Observers{observer, plans}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	reaches := func(s *intent.Snapshot) func() bool {
		return func() bool { st := loop.Status(); return st.Converged && st.Revision == s.Revision() }
	}
	await.True(t, reaches(newest()), "the first state is in force")

	first := newest()
	for i := range stormChanges {
		storm(t, r, cluster, i)
		<-latest
		latest <- r.translator.Snapshot()
		loop.Wake()
	}
	last := newest()
	_, remembered := last.Since(first.Revision())
	require.False(t, remembered, "this is no storm: every change of it is remembered")
	began := time.Now()
	close(gate)
	await.True(t, reaches(last), "the last state is in force")

	t.Logf("%d changes of %d pods and %d policies were in force %v after the last one", stormChanges, len(cluster.Pods), len(cluster.Policies), time.Since(began))
	t.Logf("%d plans, of which the largest has %d operations for %d changes", plans.plans, plans.ops, plans.changes)
	require.LessOrEqual(t, plans.ops, opsOfRound)
	require.LessOrEqual(t, plans.changes, changesOfRound)
	counts := readBacks(t, observer)
	require.Equal(t, map[string]float64{string(backends.ReadBackStart): 1}, counts)
	r.reached = 0
	require.Empty(t, r.sync(t).Ops, "a read-back finds what the plan from differences missed")
}

// How much one round of a storm may handle.
const (
	opsOfRound     = 2000
	changesOfRound = 500
)

// The storm: as many changes, of which so many relabel a namespace.
const (
	stormChanges    = 4000
	stormNamespaces = 404
)

// storm makes the i-th change: namespaces exchange their teams, pods their apps.
func storm(t testing.TB, r *rig, c *oracle.Cluster, i int) {
	t.Helper()
	if i*stormNamespaces/stormChanges != (i+1)*stormNamespaces/stormChanges {
		ns := c.Namespaces[i%len(c.Namespaces)].DeepCopy()
		ns.Labels["team"] = c.Namespaces[(i+i/len(c.Namespaces))%len(c.Namespaces)].Labels["team"]
		require.NoError(t, r.translator.Put(ns))
		return
	}
	pod := c.Pods[i*7%len(c.Pods)]
	require.NoError(t, r.translator.Put(relabel(pod, "app", fmt.Sprintf("a%d", (i+i/len(c.Pods))%5)))) // another each time
}

// readBacks returns the values of netloom_readbacks_total that are not zero, by reason.
func readBacks(t *testing.T, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "netloom_readbacks_total" {
			continue
		}
		for _, s := range f.GetMetric() {
			if n := s.GetCounter().GetValue(); n > 0 {
				out[label(s, "reason")] = n
			}
		}
	}
	return out
}

func label(s *dto.Metric, name string) string {
	for _, l := range s.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
