package impact

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

// maxLiveFlows is how many flows are listed; connections of further ones are counted.
const maxLiveFlows = 4096

// Live is what a change means for connections that are established now.
type Live struct {
	Connections int        `json:"connections"` // that were judged
	Cut         int        `json:"cut"`         // that are allowed in the first state, and not in the second
	Kept        int        `json:"kept"`        // that are allowed in both
	Denied      int        `json:"denied"`      // that the first state does not allow: they are from before it, or do not pass this target
	Flows       []LiveFlow `json:"flows"`       // those that are cut, then those that are kept, each with the most connections first
	// More is how many connections belong to flows beyond the first 4,096, in the numbers above and not in Flows.
	More int `json:"more,omitempty"`
}

// LiveFlow is the established connections between two ends to one port.
type LiveFlow struct {
	From        string `json:"from"` // a pod as namespace/name, node/NAME or an address
	To          string `json:"to"`
	Port        string `json:"port"` // such as tcp/5432, or icmp
	Cut         bool   `json:"cut"`
	Connections int    `json:"connections"`
}

// LiveOf judges established connections in two states. Connections that no pod is an end of are not judged.
//
// That a connection is cut means that the second state denies it: OVN evaluates the ACLs of a connection again when they change, for each of
// its packets.
func LiveOf(before, after world.State, connections []intent.Flow) Live {
	from, to := world.New(before), world.New(after)
	out := Live{Flows: []LiveFlow{}}
	counts := map[LiveFlow]int{}
	for _, f := range connections {
		src, isPod := from.At(f.Src.Addr)
		dst, alsoPod := from.At(f.Dst.Addr)
		if !isPod && !alsoPod {
			continue
		}
		out.Connections++
		flow := LiveFlow{From: src, To: dst, Port: f.Protocol.String(), Cut: !to.Snapshot().Evaluate(f).Allowed}
		if f.Port != 0 {
			flow.Port = fmt.Sprintf("%s/%d", f.Protocol, f.Port)
		}
		switch {
		case !from.Snapshot().Evaluate(f).Allowed:
			out.Denied++
			continue
		case flow.Cut:
			out.Cut++
		default:
			out.Kept++
		}
		counts[flow]++
	}
	for flow, n := range counts {
		flow.Connections = n
		out.Flows = append(out.Flows, flow)
	}
	slices.SortFunc(out.Flows, func(a, b LiveFlow) int {
		if a.Cut != b.Cut {
			if a.Cut {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Port, b.Port))
	})
	if len(out.Flows) > maxLiveFlows {
		for _, f := range out.Flows[maxLiveFlows:] {
			out.More += f.Connections
		}
		out.Flows = out.Flows[:maxLiveFlows]
	}
	return out
}
