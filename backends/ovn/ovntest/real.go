package ovntest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// errInjected is the failure of a write to a real server, which cannot be asked to fail.
var errInjected = errors.New("injected failure")

// NewReal starts a real ovsdb-server and makes it a target. Failures are injected between the backend and the server.
func NewReal(t testing.TB, schema []byte) *Target {
	process, err := ovsdbtest.StartProcess(t.Context(), t.TempDir(), schema)
	require.NoError(t, err)
	t.Cleanup(func() { _ = process.Stop() })
	return newTarget(t, &realServer{Process: process}, networks())
}

// realServer is a server that counts and fails what the backends of a target write.
type realServer struct {
	*ovsdbtest.Process
	writes int
	failAt int
	stage  simulator.Stage
}

// FailAt makes the n-th transaction from now fail; zero cancels that.
func (r *realServer) FailAt(n int, stage simulator.Stage) { r.failAt, r.stage = n, stage }

// Transactions counts the transactions so far.
func (r *realServer) Transactions() int { return r.writes }

// apply sends a plan through b, up to where a failure is due.
func (r *realServer) apply(ctx context.Context, b backends.Backend, p *backends.Plan) error {
	groups := p.Groups()
	if r.failAt == 0 || r.failAt > groups {
		r.failAt = max(0, r.failAt-groups)
		return r.send(ctx, b, p)
	}
	due := r.failAt
	r.failAt = 0
	if r.stage == simulator.AfterCommit {
		due++
	}
	part := *p
	part.Ops = upTo(p.Ops, due-1)
	return errors.Join(r.send(ctx, b, &part), errInjected)
}

// send counts what succeeded; what failed without an injected failure was rejected.
func (r *realServer) send(ctx context.Context, b backends.Backend, p *backends.Plan) error {
	err := b.Apply(ctx, p)
	if err == nil {
		r.writes += p.Groups()
	}
	return err
}

// upTo returns the ops of the first groups.
func upTo(ops []backends.Op, groups int) []backends.Op {
	for i := range ops {
		if i == 0 || ops[i].Group != ops[i-1].Group {
			if groups == 0 {
				return ops[:i]
			}
			groups--
		}
	}
	return ops
}

// Convert changes the schema of a running real server, as an upgrade of OVN does. Clients reconnect.
func (g *Target) Convert(t testing.TB, schema []byte) {
	t.Helper()
	server, ok := g.server.(*realServer)
	require.True(t, ok, "only a real server converts its database")
	file := filepath.Join(t.TempDir(), "new.ovsschema")
	require.NoError(t, os.WriteFile(file, schema, 0o600))
	out, err := exec.CommandContext(t.Context(), "ovsdb-client", "convert", server.Addr(), file).CombinedOutput() //nolint:gosec // an address and a file of the test
	require.NoError(t, err, "%s", out)
	g.traced = -1
	for _, c := range append([]*ovsdb.Client{g.admin}, g.clients...) {
		await.True(t, func() bool { return c.Connected() && c.Schema().HasColumn("ACL", "tier") }, "the client knows the new schema")
	}
}
