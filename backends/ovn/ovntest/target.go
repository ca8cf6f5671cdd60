package ovntest

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
)

// patience is how long a server on the same machine may take for anything.
const patience = 20 * time.Second

// switchName is the one logical switch, on which all ports are.
const switchName = "sw0"

// Target is a Northbound database with one logical switch. Make it with New.
type Target struct {
	server  server
	admin   *ovsdb.Client
	clients []*ovsdb.Client
	tracer  *nbtrace.Tracer // of the rows as of the write count below; the target's own writes make it -1
	traced  int
	foreign string
}

// server is what holds the database, counts the writes of backends and fails them on demand.
type server interface {
	Addr() string
	FailAt(n int, stage ovsdbtest.Stage)
	Transactions() int
}

// New starts a server of schema within the process and makes it a target.
func New(t testing.TB, schema []byte) *Target {
	server, err := ovsdbtest.NewServer(schema)
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	return newTarget(t, server)
}

func newTarget(t testing.TB, server server) *Target {
	target := &Target{server: server, traced: -1}
	target.admin = target.connect(t)
	target.transact(t, ovsdb.Insert("Logical_Switch", id("switch", switchName), libovsdb.Row{"name": switchName}))
	return target
}

// connect runs a client until the test ends.
func (g *Target) connect(t testing.TB) *ovsdb.Client {
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []string{g.server.Addr()}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	require.Eventually(t, client.Connected, patience, time.Millisecond)
	return client
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
	g.clients = append(g.clients, client)
	backend, err := ovn.New(client, ovn.Options{Owner: owner, Ports: names})
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

// Plan tries again while there is no connection, and when one is lost on the way.
func (p *patient) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		plan, err := p.Backend.Plan(ctx, want, since)
		lost := errors.Is(err, ovsdb.ErrNotConnected) || errors.Is(err, ovsdb.ErrUnknownOutcome)
		if !lost || ctx.Err() != nil {
			return plan, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-limit:
			return nil, err
		case <-tick.C:
		}
	}
}

// Prepare adds a logical port for each endpoint that has none and waits until every client has seen it.
func (g *Target) Prepare(t testing.TB, endpoints []intent.Endpoint) {
	names, err := ovn.ParsePortNames(ovn.DefaultPortNames)
	require.NoError(t, err)
	var ops []libovsdb.Operation
	var added []string
	for _, e := range endpoints {
		name := names.Names(e.Key)[0]
		if _, ok := g.admin.Port(name); ok || slices.Contains(added, name) {
			continue
		}
		added = append(added, name)
		port := id("port", name)
		ops = append(ops,
			ovsdb.Insert("Logical_Switch_Port", port, libovsdb.Row{"name": name}),
			ovsdb.MutateSet("Logical_Switch", id("switch", switchName), "ports", []libovsdb.UUID{{GoUUID: port}}, nil))
	}
	if len(ops) == 0 {
		return
	}
	g.transact(t, ops...)
	for _, c := range append(slices.Clone(g.clients), g.admin) {
		for _, name := range added {
			require.Eventually(t, func() bool {
				_, ok := c.Port(name)
				return ok || !c.Connected()
			}, patience, time.Millisecond)
		}
	}
}

// Verdict judges a flow from the rows in the database.
func (g *Target) Verdict(t testing.TB, f intent.Flow) bool {
	if n := g.Writes(t); n != g.traced {
		rows, err := nbtrace.Load(t.Context(), g.admin)
		require.NoError(t, err)
		g.tracer, err = nbtrace.New(rows)
		require.NoError(t, err)
		g.traced = n
	}
	return g.tracer.Trace(Packet(f)).Allowed
}

// Packet is the first packet of a flow between endpoints with the names that are the default.
func Packet(f intent.Flow) nbtrace.Packet {
	return nbtrace.Packet{
		Inport: portOf(f.Src), Outport: portOf(f.Dst), Src: f.Src.Addr, Dst: f.Dst.Addr,
		Protocol: uint8(f.Protocol), DstPort: f.Port, SrcPort: 40000, ICMPType: echoRequest(f.Protocol),
	}
}

func echoRequest(p intent.Protocol) uint8 {
	if p == intent.ICMPv6 {
		return 128
	}
	return 8
}

func portOf(p intent.Party) string {
	if p.Key == (intent.Key{}) {
		return ""
	}
	return p.Key.Namespace + "_" + p.Key.Name
}

// FailAt implements backendtest.Target.
func (g *Target) FailAt(k int) { g.server.FailAt(k, ovsdbtest.BeforeCommit) }

// LoseAt makes the k-th write transaction from now be done and its answer be lost, with the connection; 0 takes that back.
func (g *Target) LoseAt(k int) { g.server.FailAt(k, ovsdbtest.AfterCommit) }

// Writes implements backendtest.Target.
func (g *Target) Writes(testing.TB) int { return g.server.Transactions() }

// Dangling lists address sets and port groups that ACLs name and that are not there.
func (g *Target) Dangling(t testing.TB) []string {
	rows, err := nbtrace.Load(t.Context(), g.admin)
	require.NoError(t, err)
	if _, err := nbtrace.New(rows); err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return nil
}

// AddForeign adds a port group with ACLs, an address set and a switch ACL as another controller has them.
func (g *Target) AddForeign(t testing.TB) {
	acl := func(name string) libovsdb.Operation {
		return ovsdb.Insert("ACL", id("foreign acl", name), libovsdb.Row{
			"action": "allow-related", "direction": "to-lport", "priority": 900, "match": "ip4 && tcp.dst == 22", "name": name,
			"external_ids": ovsdb.Map(map[string]string{"vendor": "another"}),
		})
	}
	g.transact(t,
		acl("on a group"), acl("on a switch"),
		ovsdb.Insert("Port_Group", id("foreign", "pg"), libovsdb.Row{
			"name": "another", "acls": ovsdb.UUIDs([]string{id("foreign acl", "on a group")}),
		}),
		ovsdb.Insert("Address_Set", id("foreign", "as"), libovsdb.Row{
			"name": "another", "addresses": ovsdb.Set([]string{"10.0.0.1"}),
		}),
		ovsdb.MutateSet("Logical_Switch", id("switch", switchName), "acls",
			[]libovsdb.UUID{{GoUUID: id("foreign acl", "on a switch")}}, nil),
	)
	g.foreign = g.dumpForeign(t)
}

// ForeignIntact implements backendtest.Target.
func (g *Target) ForeignIntact(t testing.TB) bool { return g.foreign == g.dumpForeign(t) }

// id is a UUID that is the same in every test.
func id(kind, name string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(kind+"\x00"+name)).String()
}

// Dump implements backendtest.Target.
func (g *Target) Dump(t testing.TB) string {
	return g.dump(t, func(owner string) bool { return owner != "" })
}

// DumpOwner implements backendtest.Target.
func (g *Target) DumpOwner(t testing.TB, owner string) string {
	return g.dump(t, func(o string) bool { return o == owner })
}

func (g *Target) dumpForeign(t testing.TB) string {
	return g.dump(t, func(owner string) bool { return owner == "" })
}

// dump spells the rows of the tables that backends write, those of the owners asked for, in order. Ports go by name.
func (g *Target) dump(t testing.TB, take func(owner string) bool) string {
	ports := map[string]string{}
	for _, r := range g.rows(t, "Logical_Switch_Port", "_uuid", "name") {
		ports[ovsdb.String(r["_uuid"])] = ovsdb.String(r["name"])
	}
	var lines []string
	for table, columns := range tables() {
		for _, r := range g.rows(t, table, columns...) {
			if !take(ovsdb.StringMap(r["external_ids"])[ovn.KeyOwner]) {
				continue
			}
			line := table
			for _, c := range columns {
				if v := spell(r[c], ports); v != "" {
					line += fmt.Sprintf(" %s=%s", c, v)
				}
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func (g *Target) rows(t testing.TB, table string, columns ...string) []libovsdb.Row {
	t.Helper()
	rows, err := g.admin.Select(t.Context(), table, nil, columns...)
	require.NoError(t, err)
	return rows
}

// tables lists the columns that are dumped.
func tables() map[string][]string {
	return map[string][]string{
		"ACL": {
			"_uuid", "name", "direction", "priority", "match", "action", "tier", "log", "severity", "meter", "options",
			"external_ids",
		},
		"Address_Set": {"_uuid", "name", "addresses", "external_ids"},
		"Meter":       {"_uuid", "name", "unit", "fair", "bands", "external_ids"},
		"Meter_Band":  {"_uuid", "action", "rate", "burst_size", "external_ids"},
		"Port_Group":  {"_uuid", "name", "ports", "acls", "external_ids"},
	}
}

func spell(value any, ports map[string]string) string {
	switch v := value.(type) {
	case libovsdb.OvsMap:
		var parts []string
		for k, e := range ovsdb.StringMap(v) {
			parts = append(parts, k+"="+e)
		}
		slices.Sort(parts)
		return strings.Join(parts, ",")
	case libovsdb.OvsSet, libovsdb.UUID:
		parts := ovsdb.Strings(v)
		for i, u := range parts {
			if name := ports[u]; name != "" {
				parts[i] = name
			}
		}
		slices.Sort(parts)
		return strings.Join(parts, ",")
	default:
		return fmt.Sprint(v)
	}
}
