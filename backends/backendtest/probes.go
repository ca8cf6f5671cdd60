package backendtest

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
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

// Probes lists flows between all endpoints of the states, and between them and a few addresses outside, at the edges of
// what the rules of a World speak of. Both ends have one family and different addresses, and one of them is an
// endpoint.
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
				flows = append(flows, intent.Flow{Src: src, Dst: dst, Protocol: s.protocol, Port: s.port})
			}
		}
	}
	return flows
}

// parties lists every endpoint with each address it holds in one of the states, and the outside.
func parties(states []*State) []intent.Party {
	var list []intent.Party
	for _, s := range states {
		for _, e := range s.Endpoints {
			for _, a := range e.Addrs {
				if p := (intent.Party{Key: e.Key, Addr: a}); !slices.Contains(list, p) {
					list = append(list, p)
				}
			}
		}
	}
	for _, a := range slices.Concat(outside(), nodeAddrs()) {
		list = append(list, intent.Party{Addr: a})
	}
	return list
}
