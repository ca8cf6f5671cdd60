package daemon_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/reconcile"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// testLog writes to the test's own output.
func testLog(t *testing.T) *logrus.Logger { return pipelinetest.Log(t) }

// place is a directory of manifests and a Northbound database with logical ports for its pods, and with rows that
// belong to another controller.
type place struct {
	dir    string
	socket string
	server *simulator.Server
}

// newPlace makes a place with podsFile and policiesFile in it, and starts its database.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := newSilentPlace(t)
	require.NoError(t, p.server.Start(p.socket))
	return p
}

// newSilentPlace makes a place whose database does not listen yet.
func newSilentPlace(t *testing.T) *place {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(server.Close)
	require.NoError(t, server.AddSwitch("sw"))
	for _, name := range []string{"web-0", "web-1", "db-0"} {
		require.NoError(t, server.AddPort("sw", "shop_"+name, nil))
	}
	_, err = server.Transact(
		libovsdb.Operation{Op: "insert", Table: "Address_Set", Row: libovsdb.Row{"name": "foreign", "addresses": "192.0.2.1"}},
		libovsdb.Operation{Op: "insert", Table: "Port_Group", Row: libovsdb.Row{
			"name": "foreign", "ports": libovsdb.UUID{GoUUID: simulator.UUIDOf("Logical_Switch_Port", "shop_db-0")},
		}},
	)
	require.NoError(t, err)
	p := &place{dir: t.TempDir(), socket: "unix:" + filepath.Join(t.TempDir(), "nb.sock"), server: server}
	p.write(t, "pods.yaml", podsFile)
	p.write(t, "policies.yaml", policiesFile)
	return p
}

// write puts a file in place as editors do: whole, by a rename.
func (p *place) write(t *testing.T, name, content string) {
	t.Helper()
	temporary := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(temporary, []byte(content), 0o600))
	require.NoError(t, os.Rename(temporary, filepath.Join(p.dir, name)))
}

func (p *place) remove(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		require.NoError(t, os.Remove(filepath.Join(p.dir, name)))
	}
}

// options are those of a daemon for the place, quick to try again and without a check for drift.
func (p *place) options() daemon.Options {
	return daemon.Options{
		Manifests: p.dir,
		Target: builtin.Settings{Owner: "netloom", OVN: ovn.Settings{
			Endpoints: []string{p.socket}, PortNames: ovn.DefaultPortNames,
		}},
		Reconcile: reconcile.Options{
			RetryMin: time.Millisecond, RetryMax: 20 * time.Millisecond, MaxDeleteFraction: 1, MinDeleteGuard: 1,
		},
	}
}

// rows are those of ours, and the foreign ones, as text.
func (p *place) rows() string { return p.server.Dump("Address_Set", "Port_Group") }

// owned counts the rows of an owner.
func (p *place) owned(t *testing.T, owner string) int {
	t.Helper()
	n := 0
	for _, table := range []string{"ACL", "Address_Set", "Port_Group"} {
		results, err := p.server.Transact(libovsdb.Operation{
			Op: "select", Table: table, Columns: []string{"external_ids"},
			Where: []libovsdb.Condition{{
				Column: "external_ids", Function: libovsdb.ConditionIncludes,
				Value: libovsdb.OvsMap{GoMap: map[any]any{ovn.KeyOwner: owner}},
			}},
		})
		require.NoError(t, err)
		n += len(results[0].Rows)
	}
	return n
}

// running is a daemon at work.
type running struct {
	*daemon.Daemon
	t       *testing.T
	handler http.Handler
	stop    func() // waits for the daemon to have stopped, the first time
}

// start runs a daemon until the test ends or stops it.
func start(t *testing.T, opts daemon.Options) *running {
	t.Helper()
	d, err := daemon.New(opts, testLog(t))
	require.NoError(t, err)
	return startMade(t, d)
}

// startMade runs a daemon that a test has made.
func startMade(t *testing.T, d *daemon.Daemon) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	r := &running{Daemon: d, t: t, handler: d.Handler()}
	r.stop = func() {
		r.stop = func() {}
		cancel()
		require.NoError(t, <-done)
		d.Close()
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// startReady runs a daemon and waits until it is ready.
func startReady(t *testing.T, opts daemon.Options) *running {
	t.Helper()
	r := start(t, opts)
	r.await("ready", func() bool { code, _ := r.get("/readyz"); return code == http.StatusOK })
	return r
}

func (r *running) await(what string, condition func() bool) {
	r.t.Helper()
	await.True(r.t, condition, "%s", what)
}

// awaitRevision waits until the target is in sync with a snapshot that is newer than the given one.
func (r *running) awaitRevision(after float64) {
	r.t.Helper()
	r.await("the target to be in sync", func() bool {
		at := r.metric("netloom_target_revision")
		return at > after && at == r.metric("netloom_snapshot_revision") && r.metric("netloom_target_up") == 1
	})
}

// edit makes a change to the sources and waits until the target is in sync with it.
func (r *running) edit(change func()) {
	r.t.Helper()
	before := r.metric("netloom_snapshot_revision")
	change()
	r.awaitRevision(before)
}

// get asks the daemon's handler.
func (r *running) get(path string) (int, string) {
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

// metric is the sum of a metric over its labels. A metric that is not there is zero.
func (r *running) metric(name string) float64 {
	_, text := r.get("/metrics")
	var sum float64
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		fields := strings.Fields(line)
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		require.NoError(r.t, err)
		sum += value
	}
	return sum
}

const podsFile = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
status: {phase: Running, podIP: 10.244.0.10}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
status: {phase: Running, podIP: 10.244.0.11}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
status: {phase: Running, podIP: 10.244.0.20}
`

const policiesFile = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - ports: [{port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress:
  - from: [{podSelector: {matchLabels: {app: web}}}]
    ports: [{port: 5432}]
`

// isWell reports whether readiness says that nothing is wrong.
func isWell(text string) bool { return withoutConfirmed(text) == "ok\n" }

// withoutConfirmed is readiness without the line that says when each view was last confirmed.
func withoutConfirmed(text string) string {
	before, _, _ := strings.Cut(text, "confirmed: ")
	return before
}
