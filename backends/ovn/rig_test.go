package ovn_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// rig is a database whose logical ports the test makes itself, and a backend that is driven step by step.
type rig struct {
	server  *simulator.Server
	client  *ovsdb.Client
	backend *ovn.Backend
	reached intent.Revision
	others  bool // others change rows of ours
}

func newRig(t testing.TB, ports string) *rig {
	t.Helper()
	return newRigOn(t, schema.NB2503(), ports, ovn.LoadBalancing{})
}

// newRigOn is a rig with a database of a schema and with load balancers put somewhere.
func newRigOn(t testing.TB, nb []byte, ports string, lbs ovn.LoadBalancing) *rig {
	t.Helper()
	server := ovntest.StartServer(t, nb)
	require.NoError(t, server.AddSwitch("sw0"))
	r := &rig{server: server}
	names, err := ovn.ParsePortNames(ports)
	require.NoError(t, err)
	r.client = r.connect(t, names)
	r.backend, err = ovn.New(r.client, ovn.Options{Owner: "a", Ports: names, LoadBalancing: lbs})
	require.NoError(t, err)
	return r
}

// connect runs a client that indexes what names look up, until the test ends.
func (r *rig) connect(t testing.TB, names ovn.PortNames) *ovsdb.Client {
	t.Helper()
	opts := ovsdb.Options{Endpoints: []string{r.server.Addr()}}
	if key := names.IndexKey(); key != "" {
		opts.PortIndexKeys = []string{key}
	}
	return ovntest.Connect(t, opts)
}

// addPort adds a logical port and waits until the backend's client knows it.
func (r *rig) addPort(t testing.TB, name string, ids map[string]string) {
	t.Helper()
	require.NoError(t, r.server.AddPort("sw0", name, ids))
	await.True(t, func() bool { _, ok := r.client.Port(name); return ok }, "the client knows port %s", name)
}

func (r *rig) deletePort(t testing.TB, name string) {
	t.Helper()
	require.NoError(t, r.server.DeletePort("sw0", name))
	await.True(t, func() bool { _, ok := r.client.Port(name); return !ok }, "the client knows that port %s is gone", name)
}

func (r *rig) plan(t testing.TB, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	p, err := r.backend.Plan(t.Context(), want, r.reached)
	require.NoError(t, err)
	return p
}

// reconcile brings the database to want by the cheapest plan.
func (r *rig) reconcile(t testing.TB, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	p := r.plan(t, want)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	if !p.Full && !r.others { // changes by others just before a read-back may be reported after it began
		require.False(t, r.backend.ChangedByOthers(), "changes of our own were taken for those of others")
	}
	r.reached = want.Revision()
	return p
}

// requireSettled fails the test when a plan from read-back finds something to do.
func (r *rig) requireSettled(t testing.TB, want *intent.Snapshot) {
	t.Helper()
	p, err := r.backend.Plan(t.Context(), want, 0)
	require.NoError(t, err)
	require.Empty(t, text(t, p, "nothing to do\n"))
}

// text formats a plan, without its last lines.
func text(t testing.TB, p *backends.Plan, without string) string {
	t.Helper()
	var b writer
	require.NoError(t, p.Write(&b, false))
	if string(b) == without {
		return ""
	}
	return string(b)
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// groupPorts lists the names of the logical ports in the port group of a set; false when there is no such group.
func (r *rig) groupPorts(t testing.TB, set intent.SetID) ([]string, bool) {
	t.Helper()
	ports, err := r.client.Select(t.Context(), "Logical_Switch_Port", nil, "_uuid", "name")
	require.NoError(t, err)
	names := map[string]string{}
	for _, p := range ports {
		names[ovsdb.String(p["_uuid"])] = ovsdb.String(p["name"])
	}
	groups, err := r.client.Select(t.Context(), "Port_Group", nil, "ports", "external_ids")
	require.NoError(t, err)
	for _, g := range groups {
		if ovsdb.StringMap(g["external_ids"])[ovn.KeyID] != string(set) {
			continue
		}
		list := []string{}
		for _, u := range ovsdb.Strings(g["ports"]) {
			list = append(list, names[u])
		}
		slices.Sort(list)
		return list, true
	}
	return nil, false
}

// addresses lists the content of the address sets of a set.
func (r *rig) addresses(t testing.TB, set intent.SetID) []string {
	t.Helper()
	rows, err := r.client.Select(t.Context(), "Address_Set", nil, "addresses", "external_ids")
	require.NoError(t, err)
	var list []string
	for _, row := range rows {
		if ovsdb.StringMap(row["external_ids"])[ovn.KeyID] == string(set) {
			list = append(list, ovsdb.Strings(row["addresses"])...)
		}
	}
	slices.Sort(list)
	return list
}

// pod is an endpoint with one address.
func pod(name string, n int) intent.Endpoint {
	return intent.Endpoint{
		Key:   object.Key{Namespace: "shop", Name: name},
		Addrs: []netip.Addr{netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", n))},
	}
}

// shop is two sets, "db" with the pods named and "web" with another, and a policy that admits web to db.
func shop(members ...string) *backendtest.State {
	s := &backendtest.State{
		Endpoints: []intent.Endpoint{pod("a", 1), pod("b", 2), pod("c", 3), pod("w", 9)},
		Sets:      []backendtest.SetSpec{{ID: "db"}, {ID: "web", Keys: []object.Key{{Namespace: "shop", Name: "w"}}}},
	}
	for _, name := range members {
		s.Sets[0].Keys = append(s.Sets[0].Keys, object.Key{Namespace: "shop", Name: name})
	}
	s.Policies = []intent.Policy{admit("db", "db", "web", 5432)}
	return s
}

func admit(name string, subject, peer intent.SetID, port uint16) intent.Policy {
	o := intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: name}
	return intent.Policy{
		ID: intent.PolicyID(o.String() + "/ingress"), Origin: o, Subject: subject, Isolates: true,
		Rules: []intent.Rule{{
			Path: "spec.ingress[0]", Action: intent.Allow, Peer: intent.Peer{Kind: intent.PeerSet, Set: peer},
			Ports: intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: port, Last: port}}},
		}},
	}
}
