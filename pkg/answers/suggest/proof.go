package suggest

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Effect is a change of what one end may send to another.
type Effect struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Opened string `json:"opened,omitempty"` // protocols and ports in the format of reach.Traffic
	Closed string `json:"closed,omitempty"`
}

func (e Effect) compare(o Effect) int {
	return cmp.Or(cmp.Compare(e.From, o.From), cmp.Compare(e.To, o.To), cmp.Compare(e.Opened, o.Opened), cmp.Compare(e.Closed, o.Closed))
}

// maxEffects is how many effects are listed.
const maxEffects = 50

// ends is two addresses between which a connection is wanted.
type ends struct{ from, to netip.Addr }

// beyond lists the differences between two states other than the wanted connections, for all pairs of pods and addresses
// outside, and counts those that it leaves out.
func beyond(before, after world.State, wanted []question.Connection) ([]Effect, int) {
	asked := map[ends]reach.Traffic{}
	for i := range wanted {
		at := ends{wanted[i].Src.Addr, wanted[i].Dst.Addr}
		asked[at] = asked[at].Union(trafficOf(&wanted[i].Flow))
	}
	var pods []intent.Endpoint
	held := map[netip.Addr]bool{}
	for e := range before.View.Endpoints() {
		pods = append(pods, intent.Endpoint{Key: e.Key, Addrs: e.AllAddrs(), Node: e.Node})
		for _, a := range e.AllAddrs() {
			held[a] = true
		}
	}
	places := append(reach.PlacesOf(pods),
		reach.Outside(func(a netip.Addr) bool { return held[a] }, before.Snapshot, after.Snapshot)...)
	var out []Effect
	seen, more := map[Effect]bool{}, 0
	for _, c := range reach.Impact(before.Snapshot, after.Snapshot, places, nil) {
		for from, to := range c.Pairs() {
			e := Effect{From: nameOf(from), To: nameOf(to), Closed: textOf(c.Closed)}
			e.Opened = textOf(c.Opened.Minus(asked[ends{from.Party.Addr, to.Party.Addr}]))
			if from.Party.Addr == to.Party.Addr || e.Opened == "" && e.Closed == "" || seen[e] {
				continue
			}
			if len(out) == maxEffects {
				more++
				break
			}
			seen[e], out = true, append(out, e)
		}
	}
	slices.SortFunc(out, Effect.compare)
	return out, more
}

// nameOf returns the pod at a place, or the addresses that it represents.
func nameOf(p reach.Place) string {
	if p.Party.Key == (object.Key{}) {
		return "outside " + p.String()
	}
	return p.Party.Key.Namespace + "/" + p.Party.Key.Name
}

func textOf(t reach.Traffic) string {
	if t.Empty() {
		return ""
	}
	return t.String()
}
