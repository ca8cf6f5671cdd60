package suggest

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// peer is the other end of a connection: a pod, or an address that no pod has.
type peer struct {
	pod  object.Key // zero for an address
	addr netip.Addr // zero for a pod
}

func (p peer) compare(o peer) int { return cmp.Or(p.pod.Compare(o.pod), p.addr.Compare(o.addr)) }

// need is what a pod must be allowed in one direction, by peer.
type need struct {
	pod     *labelcache.Endpoint
	allowed map[peer]reach.Traffic
}

// text is the same for equal needs only.
func (n *need) text() string {
	var b strings.Builder
	for _, p := range n.peers() {
		fmt.Fprintf(&b, "%s %s %s;", p.pod, p.addr, n.allowed[p])
	}
	return b.String()
}

func (n *need) peers() []peer {
	out := make([]peer, 0, len(n.allowed))
	for p := range n.allowed {
		out = append(out, p)
	}
	slices.SortFunc(out, peer.compare)
	return out
}

// needs are the needs of all pods, by direction and pod.
type needs [2]map[object.Key]*need

// add adds what a denied connection needs: a rule in each direction that denies it. It returns false if it is there already.
func (n *needs) add(w *cluster, f *intent.Flow, v *intent.Verdict) bool {
	added := false
	for _, side := range []struct {
		direction     intent.Direction
		allowed       bool
		subject, peer intent.Party
	}{{intent.Egress, v.Egress.Allowed, f.Src, f.Dst}, {intent.Ingress, v.Ingress.Allowed, f.Dst, f.Src}} {
		if side.allowed {
			continue
		}
		subject := side.subject.Key
		if n[side.direction] == nil {
			n[side.direction] = map[object.Key]*need{}
		}
		of := n[side.direction][subject]
		if of == nil {
			of = &need{pod: w.pods[subject], allowed: map[peer]reach.Traffic{}}
			n[side.direction][subject] = of
		}
		p := peer{pod: side.peer.Key}
		if p.pod == (object.Key{}) {
			p.addr = side.peer.Addr
		}
		more := of.allowed[p].Union(trafficOf(f))
		added = added || !more.Equal(of.allowed[p])
		of.allowed[p] = more
	}
	return added
}

func trafficOf(f *intent.Flow) reach.Traffic {
	return reach.TrafficOf(intent.Ports{Ranges: []intent.PortRange{{Protocol: f.Protocol, First: f.Port, Last: f.Port}}})
}

// alike returns the needs of a direction in groups: those of pods of one namespace that need the same.
func (n *needs) alike(d intent.Direction) [][]*need {
	groups := map[string][]*need{}
	var order []string
	for _, key := range sortedKeys(n[d]) {
		of := n[d][key]
		text := key.Namespace + " " + of.text()
		if groups[text] == nil {
			order = append(order, text)
		}
		groups[text] = append(groups[text], of)
	}
	out := make([][]*need, 0, len(order))
	for _, text := range order {
		out = append(out, groups[text])
	}
	return out
}

func sortedKeys(m map[object.Key]*need) []object.Key {
	out := make([]object.Key, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, object.Key.Compare)
	return out
}
