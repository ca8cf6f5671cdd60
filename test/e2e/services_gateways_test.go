//go:build e2e

package e2e_test

import (
	"testing"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestServiceGateways lets packets in from outside through a gateway router on each node.
func TestServiceGateways(t *testing.T) {
	m := newMall(t)
	for _, node := range []string{"n1", "n2"} {
		port := m.lab.AddGateway(node)
		host := m.nodes[node].Bind(nil, port)[0]
		m.hosts[port] = host
	}
	mustApply(t, m.dir, m.lab.NBUnix(), "--ovn-lb-switches", "!ext_*,!outside,!join", "--ovn-lb-routers", "GR_*")
	m.chassis.SyncHV()
	outer, there := [2]string{"198.51.100.12", "2001:db8:9::12"}, [2]string{"198.51.100.13", "2001:db8:9::13"}
	first, second := [2]string{"172.18.0.1", "fc00:18::1"}, [2]string{"172.18.0.2", "fc00:18::2"}
	m.visits(t, []visit{
		{name: "one of three", from: "world-n1", to: vip("1"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-2", "web-3"}},
		{name: "no backend is refused at once", from: "world-n2", to: vip("3"), port: 80, want: ovnlab.Refused},
		{name: "a backend that no client may reach", from: "world-n1", to: vip("4"), port: 80, want: ovnlab.Timeout},
		{name: "not in the source ranges", from: "world-n1", to: [2]string{"198.51.100.9", "2001:db8:9::9"}, port: 80, want: ovnlab.Timeout},
		{name: "an external address", from: "world-n2", to: [2]string{"198.51.100.11", "2001:db8:9::11"}, port: 80, want: ovnlab.Answered, by: []string{"web-2"}},
		{name: "the backend of the node, an external address", from: "world-n1", to: outer, port: 80, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "the backend of the other node, an external address", from: "world-n2", to: outer, port: 80, want: ovnlab.Answered, by: []string{"web-3"}},
		{name: "no backend on the node is silence, an external address", from: "world-n1", to: there, port: 80, want: ovnlab.Timeout},
		{name: "the only backend is on the node, an external address", from: "world-n2", to: there, port: 80, want: ovnlab.Answered, by: []string{"web-3"}},
		{name: "any backend for a pod, an external address", from: "client", to: outer, port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-3"}},
		{name: "any backend for a pod of a node without", from: "client", to: there, port: 80, want: ovnlab.Answered, by: []string{"web-3"}},
		{name: "the node's port", from: "world-n1", to: first, port: 30012, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "the other node's port", from: "world-n1", to: second, port: 30012, want: ovnlab.Answered, by: []string{"web-3"}},
		{name: "no backend on the node is silence, its port", from: "world-n2", to: first, port: 30013, want: ovnlab.Timeout},
		{name: "the port of a node, for a pod", from: "far", to: first, port: 30012, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "the port of a node without a backend, for a pod", from: "far", to: first, port: 30013, want: ovnlab.Timeout},
		{name: "the cluster address of a service whose outside is of one node", from: "far", to: vip("12"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-3"}},
	})
	// A router that rewrites the client's address does not do so where the service wants to see it.
	for _, node := range []string{"n1", "n2"} {
		m.lab.NBCtl("set", "Logical_Router", "GR_"+node, "options:lb_force_snat_ip=router_ip")
	}
	m.chassis.SyncHV()
	m.visits(t, []visit{
		{name: "seen by the backend of the node, an external address", from: "world-n1", to: outer, port: 80, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "seen by the backend of the node, its port", from: "world-n2", to: second, port: 30012, want: ovnlab.Answered, by: []string{"web-3"}},
	})
}
