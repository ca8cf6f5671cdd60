package ovntest

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// network is a logical network, or what belongs to one node there: a switch for pods and a router, through which the
// outside comes.
type network struct {
	name   string // as intents have it
	node   string // "" for one that serves every node without one of its own
	pods   string // a switch
	router string
	uplink string // the switch before the router, "" for none
}

// networks returns those of every target, the default one first. All pods have their logical ports there; in the others
// flows are judged as if the ports were there.
func networks() []network {
	return []network{
		{"", "", "sw0", "lr0", "ext"},
		{"blue", "", "blue", "blue", "ext-blue"},
		{"green", "", "green", "green", ""},
	}
}

// byNode returns what nodes have of their own in the default network, where load balancers differ by switch and router.
func byNode() []network {
	list := networks()
	for _, n := range []string{"n1", "n2", "n3"} {
		list = append(list, network{"", n, n, "GR_" + n, "ext-" + n})
	}
	return list
}

// loadBalancing puts load balancers on all switches and routers but the uplinks. For green nothing is configured, which
// selects the router of that name and the switches that are connected to it.
func (g *Target) loadBalancing() ovn.LoadBalancing {
	var switches, routers []string
	for _, n := range g.networks {
		switch n.name {
		case "":
			switches, routers = append(switches, n.pods), append(routers, n.router)
		case "blue":
			switches, routers = append(switches, "blue="+n.pods), append(routers, "blue="+n.router)
		}
	}
	return ovn.LoadBalancing{
		Switches: strings.Join(switches, ","), Routers: strings.Join(routers, ","), Networks: ovn.AllNetworks,
	}
}

// network returns the network through which flows enter at a node.
func (g *Target) network(name, node string) network {
	found := network{}
	for _, n := range g.networks {
		if n.name == name && (n.node == node || n.node == "" && found.pods == "") {
			found = n
		}
	}
	return found
}

// world returns the logical port that the outside is behind.
func (n *network) world() string { return "world-" + n.uplink }

// rows returns the operations that make a network.
func (n *network) rows() []libovsdb.Operation {
	ops := []libovsdb.Operation{ovsdb.Insert("Logical_Router", id("router", n.router), libovsdb.Row{"name": n.router})}
	for _, sw := range []string{n.pods, n.uplink} {
		if sw == "" {
			continue
		}
		link := n.router + "-" + sw
		ports := []string{id("port", "to-"+link)}
		ops = append(ops,
			ovsdb.Insert("Logical_Router_Port", id("router port", link), libovsdb.Row{"name": link, "mac": "0a:00:00:00:00:01"}),
			ovsdb.MutateSet("Logical_Router", id("router", n.router), "ports",
				[]libovsdb.UUID{{GoUUID: id("router port", link)}}, nil),
			ovsdb.Insert("Logical_Switch_Port", ports[0], libovsdb.Row{
				"name": "to-" + link, "type": "router", "options": ovsdb.Map(map[string]string{"router-port": link}),
			}))
		if sw == n.uplink {
			ports = append(ports, id("port", n.world()))
			ops = append(ops, ovsdb.Insert("Logical_Switch_Port", ports[1], libovsdb.Row{"name": n.world()}))
		}
		ops = append(ops, ovsdb.Insert("Logical_Switch", id("switch", sw), libovsdb.Row{"name": sw, "ports": ovsdb.UUIDs(ports)}))
	}
	return ops
}

// Verdict judges a flow from the rows in the database. Replies to what they allow have to pass.
func (g *Target) Verdict(t testing.TB, f intent.Flow) backendtest.Verdict {
	tracer, p := g.tracer(t, f.Network), g.packet(f)
	r := tracer.Trace(p)
	v := backendtest.Verdict{Allowed: r.Allowed}
	if r.Allowed {
		require.True(t, tracer.RepliesPass(p), "replies are dropped: %+v", f)
	}
	if r.Balanced == nil {
		return v
	}
	v.Refused = r.Balanced.Outcome == nbtrace.Refused
	for _, b := range r.Balanced.Backends {
		if v.Backends == nil {
			v.Backends = map[netip.AddrPort]bool{}
		}
		v.Backends[b.Addr] = b.Allowed
	}
	return v
}

// rowState is the rows at one moment, and the tracers for them, by network.
type rowState struct {
	rows    nbtrace.Rows
	tracers map[string]*nbtrace.Tracer
	faults  error // of the rows as they are
}

// look returns what is in the database now. It reads once for each state.
func (g *Target) look(t testing.TB) *rowState {
	if g.refresh(t); g.seen == nil {
		rows, err := nbtrace.Load(t.Context(), g.admin)
		require.NoError(t, err)
		tracer, faults := nbtrace.New(rows)
		g.seen = &rowState{rows, map[string]*nbtrace.Tracer{"": tracer}, faults}
	}
	return g.seen
}

// tracer judges what is in the database now, with the pods in a network.
func (g *Target) tracer(t testing.TB, of string) *nbtrace.Tracer {
	s := g.look(t)
	require.NoError(t, s.faults)
	if s.tracers[of] == nil {
		var err error
		s.tracers[of], err = nbtrace.New(g.moveIn(s.rows, of))
		require.NoError(t, err)
	}
	return s.tracers[of]
}

// moveIn puts the ports of the default network on the switch for pods of another.
func (g *Target) moveIn(rows nbtrace.Rows, of string) nbtrace.Rows {
	rows.Switches = slices.Clone(rows.Switches)
	homes := map[string]bool{}
	for _, n := range g.networks {
		homes[n.pods] = n.name == ""
	}
	var ports []string
	for i := range rows.Switches {
		if sw := &rows.Switches[i]; homes[sw.Name] {
			ports, sw.Ports = append(ports, sw.Ports...), nil
		}
	}
	for i := range rows.Switches {
		if sw := &rows.Switches[i]; sw.Name == g.network(of, "").pods {
			sw.Ports = slices.Concat(sw.Ports, ports)
		}
	}
	return rows
}

// packet returns the first packet of a flow between endpoints with the names that are the default. What is not sent by
// an endpoint comes through the uplink and the router of the network.
func (g *Target) packet(f intent.Flow) nbtrace.Packet {
	p := nbtrace.Packet{
		Inport: portOf(f.Src), Outport: portOf(f.Dst), Src: f.Src.Addr, Dst: f.Dst.Addr,
		Protocol: uint8(f.Protocol), DstPort: f.Port, SrcPort: 40000, ICMPType: echoRequest(f.Protocol),
		Chassis: g.chassis[f.Node], PortOf: func(a netip.Addr) string { return g.portOf[a] },
	}
	if p.Inport != "" {
		return p
	}
	n := g.network(f.Network, f.Node)
	p.Router = n.router
	if n.uplink != "" {
		p.Inport = n.world()
	}
	return p
}

func echoRequest(p intent.Protocol) uint8 {
	if p == intent.ICMPv6 {
		return 128
	}
	return 8
}

func portOf(p intent.Party) string {
	if p.Key == (object.Key{}) {
		return ""
	}
	return p.Key.Namespace + "_" + p.Key.Name
}
