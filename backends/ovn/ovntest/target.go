package ovntest

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// Target is a Northbound database with a few logical networks. Create it with New.
type Target struct {
	server   server
	networks []network
	admin    *ovsdb.Client
	clients  []*ovsdb.Client
	seen     *rowState                 // as of the write count in traced
	read     map[string][]libovsdb.Row // likewise, by table and columns
	traced   int                       // the target's own writes make it -1
	foreign  string
	owners   []string              // those that were opened
	portOf   map[netip.Addr]string // the port of an address
	chassis  map[string]string     // names by node
}

// server runs the database, counts the writes of backends and fails them on demand.
type server interface {
	FailAt(n int, stage simulator.Stage)
	Transactions() int
}

// New starts a server of schema within the process and makes it a target.
func New(t testing.TB, schema []byte) *Target { return newTarget(t, newServer(t, schema), networks()) }

// NewByNode returns New with a switch and a router for each node, as databases without template variables need them.
func NewByNode(t testing.TB, schema []byte) *Target {
	return newTarget(t, newServer(t, schema), byNode())
}

func newServer(t testing.TB, schema []byte) *simulator.Server {
	server, err := simulator.NewServer(schema)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

func newTarget(t testing.TB, server server, networks []network) *Target {
	target := &Target{
		server: server, networks: networks, traced: -1, portOf: map[netip.Addr]string{}, chassis: map[string]string{},
	}
	target.admin = target.connect(t)
	for _, n := range networks {
		target.transact(t, n.rows()...)
	}
	return target
}

// connect runs a client until the test ends. A server within the process is reached without a socket.
func (g *Target) connect(t testing.TB) *ovsdb.Client {
	switch s := g.server.(type) {
	case *simulator.Server:
		return Connect(t, ovsdb.Options{Endpoints: []string{"unix:nb"}, Dial: s.Dial})
	case *realServer:
		return Connect(t, ovsdb.Options{Endpoints: []string{s.Addr()}})
	default:
		return nil
	}
}

func (g *Target) transact(t testing.TB, ops ...libovsdb.Operation) {
	t.Helper()
	_, err := g.admin.Transact(t.Context(), ops)
	require.NoError(t, err)
	g.traced = -1
}

// Open implements backendtest.Target.
func (g *Target) Open(t testing.TB, owner string) backends.Backend {
	names, err := ovn.ParsePortNames(ovn.DefaultPortNames)
	require.NoError(t, err)
	client := g.connect(t)
	if !slices.Contains(g.owners, owner) {
		g.owners = append(g.owners, owner)
	}
	g.clients = append(g.clients, client)
	backend, err := ovn.New(client, ovn.Options{Owner: owner, Ports: names, LoadBalancing: g.loadBalancing()})
	require.NoError(t, err)
	return &patient{backend, g.server}
}

// patient plans until it reaches the server, as a loop would.
type patient struct {
	*ovn.Backend
	server server
}

// Apply lets a real server fail where it is due; one within the process does so itself.
func (p *patient) Apply(ctx context.Context, plan *backends.Plan) error {
	if r, ok := p.server.(*realServer); ok {
		return r.apply(ctx, p.Backend, plan)
	}
	return p.Backend.Apply(ctx, plan)
}

// Plan retries while there is no connection, and if one is lost on the way.
func (p *patient) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		plan, err := p.Backend.Plan(ctx, want, since)
		lost := errors.Is(err, ovsdb.ErrNotConnected) || errors.Is(err, ovsdb.ErrUnknownOutcome)
		if !lost || ctx.Err() != nil {
			return plan, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// Prepare adds a logical port for each endpoint that has none and waits until every client has seen it.
func (g *Target) Prepare(t testing.TB, endpoints []intent.Endpoint, nodes []*intent.Node) {
	names, err := ovn.ParsePortNames(ovn.DefaultPortNames)
	require.NoError(t, err)
	for _, n := range nodes {
		g.chassis[n.Name] = cmp.Or(n.SystemID, n.Name)
	}
	var ops []libovsdb.Operation
	var added []string
	for _, e := range endpoints {
		name := names.Names(e.Key)[0]
		for _, a := range e.Addrs {
			g.portOf[a] = name
		}
		if _, ok := g.admin.Port(name); ok || slices.Contains(added, name) {
			continue
		}
		added = append(added, name)
		port := id("port", name)
		ops = append(ops,
			ovsdb.Insert("Logical_Switch_Port", port, libovsdb.Row{"name": name}),
			ovsdb.MutateSet("Logical_Switch", id("switch", g.network("", e.Node).pods), "ports", []libovsdb.UUID{{GoUUID: port}}, nil))
	}
	if len(ops) == 0 {
		return
	}
	g.transact(t, ops...)
	for _, c := range append(slices.Clone(g.clients), g.admin) {
		for _, name := range added {
			await.True(t, func() bool {
				_, ok := c.Port(name)
				return ok || !c.Connected()
			}, "the client knows port %s", name)
		}
	}
}

// FailAt implements backendtest.Target.
func (g *Target) FailAt(k int) { g.server.FailAt(k, simulator.BeforeCommit) }

// LoseAt makes the k-th write transaction from now succeed and its answer and the connection be lost; 0 cancels that.
func (g *Target) LoseAt(k int) { g.server.FailAt(k, simulator.AfterCommit) }

// Writes implements backendtest.Target.
func (g *Target) Writes(testing.TB) int { return g.server.Transactions() }

// Dangling lists missing address sets and port groups that ACLs name, and load balancers that OVN rejects.
func (g *Target) Dangling(t testing.TB) []string {
	if err := g.look(t).faults; err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return nil
}

// ForeignIntact implements backendtest.Target.
func (g *Target) ForeignIntact(t testing.TB) bool { return g.foreign == g.dumpForeign(t) }

// id returns a UUID that is the same in every test.
func id(kind, name string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(kind+"\x00"+name)).String()
}
