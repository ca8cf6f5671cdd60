package ovntest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// Listen serves the database at a socket until the test ends, for programs and for clients that see every transaction. It returns the
// endpoint, unix:PATH. It may be called once.
func (g *Target) Listen(t testing.TB) string {
	t.Helper()
	if process, ok := g.server.(*realServer); ok {
		return process.Addr()
	}
	server, ok := g.server.(*simulator.Server)
	require.True(t, ok)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	return server.Addr()
}

// Flags are those with which a program writes to the database at an endpoint what the backends of Open write.
func (g *Target) Flags(endpoint, owner string) []string {
	lb := g.loadBalancing()
	return []string{
		"--ovn-nb", endpoint, "--owner", owner, "--ovn-port-names", ovn.DefaultPortNames, "--ovn-lb-switches", lb.Switches,
		"--ovn-lb-routers", lb.Routers, "--ovn-service-networks", lb.Networks, "--ovn-meter-rate", "0",
	}
}

// Own makes DumpOwner know an owner whose rows no backend of Open has written.
func (g *Target) Own(owner string) { g.owners = append(g.owners, owner) }

// Moment is the rows of a database at one moment. Pods have the addresses of the last Prepare.
type Moment struct {
	target *Target
	state  *rowState
}

// Moment returns a moment at which the database had these rows.
func (g *Target) Moment(rows nbtrace.Rows) *Moment {
	tracer, faults := nbtrace.New(rows)
	return &Moment{g, &rowState{rows, map[string]*nbtrace.Tracer{"": tracer}, faults}}
}

// Faults is what is wrong with the rows, such as a match that names an address set that is missing; nil if nothing is.
func (m *Moment) Faults() error { return m.state.faults }

// Verdict judges a flow from the rows, as that of Target does. The database must not change meanwhile.
func (m *Moment) Verdict(t testing.TB, f intent.Flow) backendtest.Verdict {
	t.Helper()
	g := m.target
	seen, read, traced := g.seen, g.read, g.traced
	g.seen, g.read, g.traced = m.state, nil, g.Writes(t)
	defer func() { g.seen, g.read, g.traced = seen, read, traced }()
	return g.Verdict(t, f)
}
