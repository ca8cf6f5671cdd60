package intent

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

// at is a backend at an address of world, on a node.
func at(addr string, port uint16, node string) Backend {
	return Backend{Addr: netip.MustParseAddr(addr), Port: port, Node: node}
}

// shop is world with nodes and services before it: 10.96.0.1 leads to what the case wants.
func shop(front Frontend, more ...Frontend) *Snapshot {
	b := world().Next()
	b.PutNode(&Node{Name: "n1", Zone: "a"})
	if !front.Addr.IsValid() {
		front.Addr = netip.MustParseAddr("10.96.0.1")
	}
	front.Protocol, front.Port, front.Kind = TCP, 80, ClusterAddress
	b.PutLoadBalancer(&LoadBalancer{ID: "lb", RejectEmpty: true, Frontends: append([]Frontend{front}, more...)})
	drops := front
	drops.Addr, drops.Backends = netip.MustParseAddr("10.96.0.2"), Backends{}
	b.PutLoadBalancer(&LoadBalancer{ID: "silent", Frontends: []Frontend{drops}})
	blue := front
	blue.Backends = Backends{}
	b.PutLoadBalancer(&LoadBalancer{ID: "blue", Network: "blue", RejectEmpty: true, Frontends: []Frontend{blue}})
	return b.Commit()
}

// TestEvaluateLoadBalancing sends flows to frontends before the policies of world.
func TestEvaluateLoadBalancing(t *testing.T) {
	db, web, stranger := party("db", "10.0.0.1"), party("web", "10.0.0.2"), party("", "198.51.100.1")
	office := prefixes("192.0.2.0/24")
	toDB := []Backend{at("10.0.0.1", 5432, "n1")}
	local := func(l Locality, list ...Backend) Frontend {
		return Frontend{Locality: l, Backends: NewBackends(list...)}
	}
	vip := party("", "10.96.0.1")
	for _, tc := range []struct {
		name  string
		front Frontend
		flow  Flow
		want  string // the load balancer, the result, then each choice and its verdict
	}{
		{
			"policies see the backend and its port", local(0, toDB...),
			Flow{Src: web, Dst: vip, Port: 80},
			"allowed by lb: sent on 10.0.0.1:5432+",
		},
		{
			"the frontend's own port does not matter to them", local(0, at("10.0.0.1", 80, "")),
			Flow{Src: web, Dst: vip, Port: 80},
			"denied by lb: sent on 10.0.0.1:80-",
		},
		{
			"one of several is denied", local(0, at("10.0.0.1", 5432, ""), at("10.0.0.1", 5433, ""), at("10.0.0.9", 1, "")),
			Flow{Src: stranger, Dst: vip, Port: 80},
			"denied by lb: sent on 10.0.0.1:5432- 10.0.0.1:5433- 10.0.0.9:1+",
		},
		{
			"a backend that is not an endpoint", local(0, at("203.0.113.9", 80, "")),
			Flow{Src: stranger, Dst: vip, Port: 80},
			"allowed by lb: sent on 203.0.113.9:80+",
		},
		{
			"a key that is out of date does not matter", local(0, Backend{Addr: db.Addr, Port: 1, Key: object.Key{Namespace: "shop", Name: "gone"}}),
			Flow{Src: stranger, Dst: vip, Port: 80},
			"denied by lb: sent on 10.0.0.1:1-",
		},
		{
			"an endpoint reaches itself through a frontend", local(0, toDB...),
			Flow{Src: db, Dst: vip, Port: 80},
			"allowed by lb: sent on 10.0.0.1:5432+",
		},
		{"no backend", local(0), Flow{Src: web, Dst: vip, Port: 80}, "denied by lb: refused"},
		{"no backend, dropped", local(0), Flow{Src: web, Dst: party("", "10.96.0.2"), Port: 80}, "denied by silent: unserved"},
		{"no backend on the node", local(NodeOfFlow, toDB...), Flow{Src: web, Dst: vip, Port: 80, Node: "n2"}, "denied by lb: unserved"},
		{
			"a backend on the node", local(NodeOfFlow, toDB...),
			Flow{Src: web, Dst: vip, Port: 80, Node: "n1"},
			"allowed by lb: sent on 10.0.0.1:5432+",
		},
		{
			"a backend on an unknown node", local(NodeOfFlow, at("10.0.0.1", 5432, "n9")),
			Flow{Src: web, Dst: vip, Port: 80, Node: "n9"},
			"allowed by lb: sent on 10.0.0.1:5432+",
		},
		{"the node is unknown", local(NodeOfFlow, toDB...), Flow{Src: web, Dst: vip, Port: 80}, "denied by lb: unserved"},
		{
			"inside, any node", local(NodeOfOutsideFlow, toDB...),
			Flow{Src: web, Dst: vip, Port: 80, Node: "n2"},
			"allowed by lb: sent on 10.0.0.1:5432+",
		},
		{"outside, the node", local(NodeOfOutsideFlow, toDB...), Flow{Src: stranger, Dst: vip, Port: 80, Node: "n2"}, "denied by lb: unserved"},
		{
			"a node itself, any node", local(NodeOfOutsideFlow, at("10.0.0.9", 1, "n2")),
			Flow{Src: party("", "172.18.0.1"), Dst: vip, Port: 80, Node: "n1", OwnNode: true},
			"allowed by lb: sent on 10.0.0.9:1+",
		},
		{
			"a node itself, its node", local(NodeOfFlow, at("10.0.0.9", 1, "n2")),
			Flow{Src: party("", "172.18.0.1"), Dst: vip, Port: 80, Node: "n1", OwnNode: true},
			"denied by lb: unserved",
		},
		{
			"the zone of a known node", local(0, Backend{Addr: db.Addr, Port: 5432, ForZones: []string{"a"}}, Backend{Addr: web.Addr, Port: 1, ForZones: []string{"b"}}),
			Flow{Src: web, Dst: vip, Port: 80, Node: "n1"},
			"allowed by lb: sent on 10.0.0.1:5432+",
		},
		{"barred", Frontend{Denied: office, Backends: NewBackends(toDB...)}, Flow{Src: party("", "192.0.2.9"), Dst: vip, Port: 80}, "denied by lb: barred"},
		{"barred goes before refused", Frontend{Denied: office}, Flow{Src: party("", "192.0.2.9"), Dst: vip, Port: 80}, "denied by lb: barred"},
		{
			"others are not barred",
			Frontend{Denied: office, Backends: NewBackends(toDB...)},
			Flow{Src: web, Dst: vip, Port: 80},
			"allowed by lb: sent on 10.0.0.1:5432+",
		},
		{"another network", local(0, toDB...), Flow{Src: web, Dst: vip, Port: 80, Network: "blue"}, "denied by blue: refused"},
		{"no frontend of the network", local(0, toDB...), Flow{Src: stranger, Dst: vip, Port: 80, Network: "red"}, "allowed"},
		{"no frontend of the port", local(0, toDB...), Flow{Src: stranger, Dst: vip, Port: 81}, "allowed"},
		{"no frontend of the protocol", local(0, toDB...), Flow{Src: stranger, Dst: vip, Port: 80, Protocol: UDP}, "allowed"},
		{"past the frontend", local(0, toDB...), Flow{Src: stranger, Dst: db, Port: 5432}, "denied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.flow.Protocol == 0 {
				tc.flow.Protocol = TCP
			}
			require.Equal(t, tc.want, verdictText(shop(tc.front).Evaluate(tc.flow)))
		})
	}
}

func verdictText(v Verdict) string {
	text := map[bool]string{true: "allowed", false: "denied"}[v.Allowed]
	b := v.Balanced
	if b == nil {
		return text
	}
	parts := []string{fmt.Sprintf("%s by %s: %s", text, b.LoadBalancer.ID, b.Outcome)}
	for _, c := range b.Choices {
		parts = append(parts, c.Backend.AddrPort().String()+map[bool]string{true: "+", false: "-"}[c.Allowed])
	}
	return strings.Join(parts, " ")
}

// TestVerdictIsThatOfTheDeniedChoice checks that the overall verdict is that of the first denied choice, or of the first.
func TestVerdictIsThatOfTheDeniedChoice(t *testing.T) {
	web := party("web", "10.0.0.2")
	flow := Flow{Src: web, Dst: party("", "10.96.0.1"), Protocol: TCP, Port: 80}
	denied := Decision{Isolated: true, By: []RuleRef{{"out", -1}}}
	open, isolated := Decision{Allowed: true}, Decision{Isolated: true, By: []RuleRef{{"in", -1}, {"in2", -1}}}

	v := shop(Frontend{Backends: NewBackends(at("10.0.0.1", 5432, ""), at("10.0.0.1", 5433, ""), at("10.0.0.9", 1, ""))}).Evaluate(flow)
	require.False(t, v.Allowed)
	require.Equal(t, denied, v.Egress)
	require.Equal(t, isolated, v.Ingress)
	require.Len(t, v.Balanced.Choices, 3)
	require.Equal(t, []RuleRef{{"in", 0}, {"in2", 1}}, v.Balanced.Choices[0].Ingress.By)
	require.Equal(t, open, v.Balanced.Choices[2].Ingress, "10.0.0.9 is no endpoint")

	v = shop(Frontend{Backends: NewBackends(at("10.0.0.1", 5432, ""), at("10.0.0.2", 1, ""))}).Evaluate(flow)
	require.True(t, v.Allowed)
	require.Equal(t, []RuleRef{{"out", 0}}, v.Egress.By)
	require.Equal(t, open, v.Balanced.Choices[1].Egress, "to itself")
	require.Equal(t, netip.MustParseAddr("10.96.0.1"), v.Balanced.Frontend.Addr)
}
