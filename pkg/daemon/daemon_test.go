package daemon_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
)

func TestManifestsBecomeRows(t *testing.T) {
	p := newPlace(t)
	foreign := p.rows()
	startReady(t, p.options())

	rows := p.rows()
	require.Contains(t, rows, "addresses: 10.244.0.10, 10.244.0.11\n", "the peers of the policy db")
	require.Contains(t, rows, "ports: shop_web-0, shop_web-1\n")
	require.Contains(t, rows, "netloom.io/name=db")
	require.Contains(t, rows, "tcp.dst == 5432")
	for block := range strings.SplitSeq(strings.TrimSpace(foreign), "\n") {
		require.Contains(t, rows, block, "foreign rows stay")
	}
	require.Equal(t, 1, p.server.Transactions(), "a small plan is one transaction")
}

func TestALabelChangeIsOneMutation(t *testing.T) {
	p := newPlace(t)
	r := startReady(t, p.options())
	p.server.Reset()
	r.edit(func() { p.write(t, "pods.yaml", strings.Replace(podsFile, "{app: web}", "{app: old}", 1)) })

	require.NotContains(t, p.rows(), "10.244.0.10")
	require.NotContains(t, p.rows(), "shop_web-0, ")
	require.Contains(t, p.rows(), "addresses: 10.244.0.11\n")
	require.Equal(t, 1, p.server.Transactions())
	for table, verbs := range p.server.Stats().Ops {
		require.Contains(t, []string{"Address_Set", "Port_Group"}, table)
		for verb := range verbs {
			require.Contains(t, []string{"mutate", "wait"}, verb, table)
		}
	}
}

func TestABadDocumentKeepsItsPreviousVersionInForce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := startReady(t, p.options())
	require.NotContains(t, p.rows(), "8080")
	edited := strings.NewReplacer("port: 80}", "port: 8080}", "port: 5432}", "port: 99999}").Replace(policiesFile)
	r.edit(func() { p.write(t, "policies.yaml", edited) })

	require.Contains(t, p.rows(), "tcp.dst == 8080", "the good document beside it is loaded")
	require.Contains(t, p.rows(), "tcp.dst == 5432", "the bad one stays what it was")
	_, problems := r.get("/debug/problems")
	require.Contains(t, problems, "policies.yaml: document 2: NetworkPolicy/shop/db: spec.ingress[0].ports[0].port: ")
	require.InDelta(t, 1, r.metric("netloom_problems"), 0)
	code, _ := r.get("/readyz")
	require.Equal(t, http.StatusOK, code)

	r.edit(func() { p.write(t, "policies.yaml", strings.Replace(edited, "99999", "5433", 1)) })
	require.Contains(t, p.rows(), "tcp.dst == 5433")
	r.await("no problems", func() bool { _, text := r.get("/debug/problems"); return text == "" })
}

func TestAStopLeavesTheRowsAndARestartWritesNothing(t *testing.T) {
	p := newPlace(t)
	r := startReady(t, p.options())
	rows := p.rows()
	r.stop()
	require.Equal(t, rows, p.rows())

	p.server.Reset()
	r = startReady(t, p.options())
	require.Zero(t, p.server.Transactions())
	require.Equal(t, rows, p.rows())
	require.InDelta(t, p.owned(t, "netloom"), r.metric("netloom_owned_rows"), 0)
}

func TestWhatChangedWhileStoppedIsCaughtUpWith(t *testing.T) {
	p := newPlace(t)
	startReady(t, p.options()).stop()
	kept, _, _ := strings.Cut(policiesFile, "---")
	p.write(t, "policies.yaml", kept)
	startReady(t, p.options())
	require.NotContains(t, p.rows(), "5432", "the orphans are swept")
	require.Contains(t, p.rows(), "tcp.dst == 80")
	require.Contains(t, p.rows(), "Port_Group foreign")
}

func TestAPortThatAppearsLaterJoins(t *testing.T) {
	p := newPlace(t)
	require.NoError(t, p.server.DeletePort("sw", "shop_web-1"))
	r := startReady(t, p.options())
	require.NotContains(t, p.rows(), "shop_web-1")
	require.NoError(t, p.server.AddPort("sw", "shop_web-1", nil))
	r.await("the port to join", func() bool { return strings.Contains(p.rows(), "ports: shop_web-0, shop_web-1\n") })
}

func TestTwoOwnersShareADatabase(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	q := &place{dir: t.TempDir(), socket: p.socket, server: p.server}
	q.write(t, "pods.yaml", podsFile)
	q.write(t, "policies.yaml", strings.ReplaceAll(policiesFile, "5432", "6543"))
	other := q.options()
	other.Target.Owner = "other"
	startReady(t, p.options())
	r := startReady(t, other)
	ours := p.owned(t, "netloom")
	require.Positive(t, ours)
	require.Equal(t, ours, p.owned(t, "other"), "the same policies but for a port")

	r.edit(func() { q.remove(t, "pods.yaml", "policies.yaml") })
	require.Zero(t, p.owned(t, "other"))
	require.Equal(t, ours, p.owned(t, "netloom"))
	require.Contains(t, p.rows(), "tcp.dst == 5432")
	require.NotContains(t, p.rows(), "6543")
	require.Contains(t, p.rows(), "Port_Group foreign")
}

func TestADaemonThatCannotBeMade(t *testing.T) {
	p := newSilentPlace(t)
	for _, tc := range []struct {
		name   string
		change func(*daemon.Options)
		want   string
	}{
		{"an invalid owner", func(o *daemon.Options) { o.Target.Owner = "Ours!" }, `owner "Ours!"`},
		{"invalid port names", func(o *daemon.Options) { o.Target.OVN.PortNames = "{what}" }, `{what}`},
		{"an invalid endpoint", func(o *daemon.Options) { o.Target.OVN.Endpoints = []string{"udp:a"} }, `udp:a`},
		{"no cluster around", func(o *daemon.Options) { o.Manifests = "" }, "connect to the cluster netloom runs in"},
		{
			"a kubeconfig that is not there",
			func(o *daemon.Options) { o.Manifests, o.Kubeconfig = "", p.dir+"/none" },
			"/none",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			opts := p.options()
			tc.change(&opts)
			_, err := daemon.New(opts, testLog(t))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestASourceThatCannotWorkEndsTheDaemon(t *testing.T) {
	p := newPlace(t)
	source := pipelinetest.New()
	source.Fail(errors.New("no such thing"))
	opts := p.options()
	opts.Source = source
	d, err := daemon.New(opts, testLog(t))
	require.NoError(t, err)
	defer d.Close()
	require.EqualError(t, d.Run(t.Context()), "source: no such thing")
	require.Zero(t, p.server.Transactions())
}

func TestNothingIsWrittenBeforeTheSourceSynced(t *testing.T) {
	p := newPlace(t)
	source := pipelinetest.New()
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web-0", "web", "n", "10.0.0.1"), pipelinetest.Pod("db-0", "db", "n", "10.0.0.2"), pipelinetest.Policy("db", "web", "db"))
	opts := p.options()
	opts.Source = source
	r := start(t, opts)
	r.await("the source to be drained", func() bool { return len(source.Dirty()) == 0 })
	r.await("a connection", func() bool { return p.server.Stats().BytesOut > 0 })
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "the source has not synced\ntarget ovn is not in sync yet\n", body)
	require.Zero(t, p.server.Transactions())

	source.Sync()
	r.await("ready", func() bool { code, _ := r.get("/readyz"); return code == http.StatusOK })
	require.Contains(t, p.rows(), "addresses: 10.0.0.1\n")
	require.Equal(t, 1, p.server.Transactions())
	require.InDelta(t, 4, r.metric("netloom_events_total"), 0)
}

func TestTheMetricsKnowASnapshotFirst(t *testing.T) {
	t.Parallel()
	source := pipelinetest.New()
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), pipelinetest.Policy("web", "web", "db"))
	source.Sync()
	d, err := daemon.New(embeddedOptions(source), testLog(t))
	require.NoError(t, err)
	t.Cleanup(d.Close)
	r := &running{Daemon: d, t: t, handler: d.Handler()}
	called := false
	d.OnPublish(func(p pipeline.Published) { // as Run has each loop woken
		called = true
		require.InDelta(t, float64(p.Snapshot.Revision()), r.metric("netloom_snapshot_revision"), 0)
	})
	d.Pipeline().Step()
	require.True(t, called)
}
