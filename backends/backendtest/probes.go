package backendtest

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// shot is what a probe sends.
type shot struct {
	protocol intent.Protocol
	port     uint16
}

func shots() []shot {
	return []shot{
		{intent.TCP, 80},
		{intent.TCP, 90},
		{intent.TCP, 91},
		{intent.TCP, 8080},
		{intent.TCP, 65535},
		{intent.UDP, 53},
		{intent.UDP, 80},
		{intent.SCTP, 80},
		{intent.ICMP, 0},
	}
}

// Probes lists flows between all endpoints of the states, and between them and a few addresses outside, at both ends of
// what the rules of a World cover, and flows to frontends. Both ends have one family and different addresses.
func Probes(states ...*State) []intent.Flow {
	parties := parties(states)
	var flows []intent.Flow
	for _, src := range parties {
		for _, dst := range parties {
			if src.Key == dst.Key || src.Addr == dst.Addr || src.Addr.Is4() != dst.Addr.Is4() {
				continue
			}
			for _, s := range shots() {
				if s.protocol == intent.ICMP && src.Addr.Is6() {
					s.protocol = intent.ICMPv6
				}
				flows = append(flows, intent.Flow{
					Src: src.Party, Dst: dst.Party, Protocol: s.protocol, Port: s.port, Node: src.node,
				})
			}
		}
	}
	return append(flows, frontendProbes(states, parties)...)
}

// frontendProbes lists flows to every frontend of the states and next to them: from each party, and from those outside by
// way of each node. No endpoint sends to another network.
func frontendProbes(states []*State, parties []party) []intent.Flow {
	var flows []intent.Flow
	nodes := commonNodes(states)
	targets, unclear := frontendFlows(states)
	for _, to := range targets {
		near := []intent.Flow{to, to, to}
		near[1].Port++
		near[2].Protocol = map[intent.Protocol]intent.Protocol{intent.TCP: intent.UDP, intent.UDP: intent.SCTP, intent.SCTP: intent.TCP}[to.Protocol]
		missed := map[bool]bool{} // one sender inside and one outside show that the frontend ends there
		for _, src := range parties {
			inside := src.Key != object.Key{}
			if src.Addr.Is4() != to.Dst.Addr.Is4() || src.Addr == to.Dst.Addr || inside && to.Network != "" {
				continue
			}
			from := nodes
			if inside {
				from = []string{src.node}
			}
			for i, f := range near {
				if i > 0 && missed[inside] || unclear[f] {
					continue
				}
				for _, node := range from {
					f.Src, f.Node = src.Party, node
					flows = append(flows, f)
				}
			}
			missed[inside] = true
		}
	}
	return flows
}

// frontendFlows lists a flow to each frontend of the states, once each; for one of another network also in the default one.
// Unclear are frontends with a backend whose address may belong to several endpoints; they are not probed.
func frontendFlows(states []*State) (list []intent.Flow, unclear map[intent.Flow]bool) {
	unclear = make(map[intent.Flow]bool)
	all := endpointsByAddr(states)
	for _, s := range states {
		here := endpointsByAddr([]*State{s})
		for i := range s.LoadBalancers {
			lb := &s.LoadBalancers[i]
			for j := range lb.Frontends {
				f := &lb.Frontends[j]
				to := intent.Flow{Dst: intent.Party{Addr: f.Addr}, Protocol: f.Protocol, Port: f.Port, Network: lb.Network}
				list = append(list, to)
				for b := range f.Backends.All() {
					if len(all[b.Addr]) > 1 || b.Key != (object.Key{}) && !here[b.Addr][b.Key] {
						unclear[to] = true
					}
				}
				if to.Network = ""; lb.Network != "" {
					list = append(list, to)
				}
			}
		}
	}
	seen := make(map[intent.Flow]bool)
	list = slices.DeleteFunc(list, func(to intent.Flow) bool {
		twice := seen[to]
		seen[to] = true
		return twice || unclear[to]
	})
	return list, unclear
}

// endpointsByAddr lists the endpoints that have each address.
func endpointsByAddr(states []*State) map[netip.Addr]map[object.Key]bool {
	keys := make(map[netip.Addr]map[object.Key]bool)
	for _, s := range states {
		for _, e := range s.Endpoints {
			for _, a := range e.Addrs {
				if keys[a] == nil {
					keys[a] = make(map[object.Key]bool)
				}
				keys[a][e.Key] = true
			}
		}
	}
	return keys
}

// commonNodes lists the nodes that every state has.
func commonNodes(states []*State) []string {
	count := make(map[string]int)
	var names []string
	for _, s := range states {
		for i := range s.Nodes {
			n := s.Nodes[i].Name
			if count[n]++; count[n] == len(states) {
				names = append(names, n)
			}
		}
	}
	return names
}

// party is one end of a flow, and the node it runs on when it is an endpoint.
type party struct {
	intent.Party
	node string
}

// parties lists every endpoint with each address it has in one of the states, and the outside.
func parties(states []*State) []party {
	var list []party
	for _, s := range states {
		for _, e := range s.Endpoints {
			for _, a := range e.Addrs {
				if p := (party{intent.Party{Key: e.Key, Addr: a}, e.Node}); !slices.Contains(list, p) {
					list = append(list, p)
				}
			}
		}
	}
	for _, a := range slices.Concat(outside(), nodeAddrs()) {
		list = append(list, party{Party: intent.Party{Addr: a}})
	}
	return list
}
