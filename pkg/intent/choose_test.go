package intent

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/seeds"
)

// behind reads backends such as "1@n1 for=n1,n2 in=a draining": the last byte of its address, its node, the nodes and
// zones of its hints. They are separated by semicolons.
func behind(text string) Backends {
	var out []Backend
	for one := range strings.SplitSeq(text, ";") {
		words := strings.Fields(one)
		if len(words) == 0 {
			continue
		}
		last, node, _ := strings.Cut(words[0], "@")
		b := Backend{Addr: netip.MustParseAddr("10.0.0." + last), Port: 8080, Node: node}
		for _, w := range words[1:] {
			what, list, _ := strings.Cut(w, "=")
			switch what {
			case "for":
				b.ForNodes = strings.Split(list, ",")
			case "in":
				b.ForZones = strings.Split(list, ",")
			case "draining":
				b.Draining = true
			}
		}
		out = append(out, b)
	}
	return NewBackends(out...)
}

// numbers formats the last bytes of backends.
func numbers(list Backends) string {
	var parts []string
	for b := range list.All() {
		parts = append(parts, fmt.Sprint(b.Addr.As4()[3]))
	}
	return strings.Join(parts, " ")
}

func TestChoose(t *testing.T) {
	here := &Node{Name: "n1", Zone: "a"}
	for _, tc := range []struct {
		name     string
		locality Locality
		of       string // the frontend's node
		backends string
		at       *Node
		inside   bool
		want     string
	}{
		{"no backends", Anywhere, "", "", here, true, ""},
		{"all that are ready", Anywhere, "", "1@n1; 2@n2; 3", here, true, "1 2 3"},
		{"none that drains while one is ready", Anywhere, "", "1@n1 draining; 2@n2; 3@n1 draining", here, true, "2"},
		{"those that drain where none is ready", Anywhere, "", "1@n1 draining; 2@n2 draining", here, true, "1 2"},

		{"hinted for the node", Anywhere, "", "1 for=n2; 2 for=n1,n2; 3 for=n3", here, true, "2"},
		{"hinted for the zone", Anywhere, "", "1 in=b; 2 in=a,b; 3 in=c", here, true, "2"},
		{"the node goes before the zone", Anywhere, "", "1 for=n2 in=a; 2 for=n1 in=b", here, true, "2"},
		{"no hint for the node, so the zone", Anywhere, "", "1 for=n2 in=a; 2 for=n3 in=b", here, true, "1"},
		{"no hint for the zone, so all", Anywhere, "", "1 in=b; 2 in=c", here, true, "1 2"},
		{"one has no hint for nodes, so all", Anywhere, "", "1 for=n1; 2", here, true, "1 2"},
		{"one has no hint for zones, so all", Anywhere, "", "1 in=a; 2", here, true, "1 2"},
		{"one has none for nodes, all have for zones", Anywhere, "", "1 for=n1 in=b; 2 in=a", here, true, "2"},
		{"hints for senders outside as well", Anywhere, "", "1 for=n1; 2 for=n2", here, false, "1"},
		{"an unknown node", Anywhere, "", "1 for=n1; 2 for=n2", nil, true, "1 2"},
		{"a node without a zone", Anywhere, "", "1 in=a; 2 in=b", &Node{Name: "n9"}, true, "1 2"},
		{"a hint that names no zone is not for those without", Anywhere, "", "1 in=; 2 in=b", &Node{Name: "n9"}, true, "1 2"},
		{"a draining backend needs no hint", Anywhere, "", "1 for=n1; 2 for=n2; 3 draining", here, true, "1"},
		{"hints of draining backends do not count", Anywhere, "", "1 for=n2; 2 for=n1 draining", here, true, "1"},
		{"nor where none is ready", Anywhere, "", "1 for=n2 draining; 2 for=n1 draining", here, true, "1 2"},

		{"node of the flow", NodeOfFlow, "", "1@n1; 2@n2; 3@n1", here, true, "1 3"},
		{"node of the flow, from outside", NodeOfFlow, "", "1@n1; 2@n2", here, false, "1"},
		{"node of the flow has none", NodeOfFlow, "", "2@n2; 3", here, true, ""},
		{"node of the flow is not known", NodeOfFlow, "", "2@n2; 3", nil, true, ""},
		{"node of the flow has no name", NodeOfFlow, "", "2@n2; 3", &Node{}, true, ""},
		{"node of the flow, hints or not", NodeOfFlow, "", "1@n1 for=n2; 2@n2 for=n1", here, true, "1"},
		{"draining on the node, though others are ready", NodeOfFlow, "", "1@n1 draining; 2@n2", here, true, "1"},
		{"draining on the node beside one that is ready", NodeOfFlow, "", "1@n1 draining; 2@n1", here, true, "2"},

		{"node of the frontend", NodeOfFrontend, "n2", "1@n1; 2@n2", here, true, "2"},
		{"node of the frontend, from outside", NodeOfFrontend, "n2", "1@n1; 2@n2", nil, false, "2"},
		{"node of the frontend has none", NodeOfFrontend, "n3", "1@n1; 2@n2; 3", here, true, ""},
		{"the frontend has no node", NodeOfFrontend, "", "1@n1; 3", here, true, ""},

		{"inside, anywhere", NodeOfOutsideFlow, "", "1@n1; 2@n2", here, true, "1 2"},
		{"inside, hints", NodeOfOutsideFlow, "", "1@n1 for=n2; 2@n2 for=n1", here, true, "2"},
		{"outside, the node of the flow", NodeOfOutsideFlow, "", "1@n1 for=n2; 2@n2 for=n1", here, false, "1"},
		{"outside, the node has none", NodeOfOutsideFlow, "", "2@n2", here, false, ""},
		{"outside, the node is unknown", NodeOfOutsideFlow, "", "2@n2; 3", nil, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := Frontend{Locality: tc.locality, Node: tc.of, Backends: behind(tc.backends)}
			require.Equal(t, tc.want, numbers(f.Choose(tc.at, tc.inside)))
			require.Equal(t, behind(tc.backends), f.Backends, "the frontend is left alone")
		})
	}
}

func TestPerNode(t *testing.T) {
	for _, tc := range []struct {
		name            string
		locality        Locality
		backends        string
		inside, outside bool
	}{
		{"anywhere", Anywhere, "1@n1; 2@n2", false, false},
		{"anywhere, no backends", Anywhere, "", false, false},
		{"hints for nodes", Anywhere, "1 for=n1; 2 for=n2", true, true},
		{"hints for zones", Anywhere, "1 in=a; 2 in=b", true, true},
		{"not all have hints", Anywhere, "1 for=n1; 2 in=a", false, false},
		{"hints of a draining backend", Anywhere, "1 for=n1 draining", false, false},
		{"a draining backend without hints", Anywhere, "1 for=n1; 2 draining", true, true},
		{"node of the flow", NodeOfFlow, "", true, true},
		{"node of the frontend", NodeOfFrontend, "1 for=n1", false, false},
		{"node of an outside flow", NodeOfOutsideFlow, "1@n1", false, true},
		{"node of an outside flow, and hints", NodeOfOutsideFlow, "1@n1 for=n1", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := Frontend{Locality: tc.locality, Backends: behind(tc.backends)}
			require.Equal(t, tc.inside, f.PerNode(true))
			require.Equal(t, tc.outside, f.PerNode(false))
		})
	}
}

// TestChoicesOfRandomFrontends checks what must be true of every frontend: choices are some of the backends in their
// order, ready ones or draining ones and never both, and they depend on the node only where PerNode says so.
func TestChoicesOfRandomFrontends(t *testing.T) {
	seeds.Each(t, "choices", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 2))
		some := func(names ...string) []string {
			return slices.DeleteFunc(names, func(string) bool { return rng.IntN(2) == 0 })
		}
		nodes := []*Node{nil, {Name: "n1", Zone: "a"}, {Name: "n2", Zone: "b"}, {Name: "n3"}}
		for range 5000 {
			f := Frontend{Locality: Locality(rng.IntN(4)), Node: "n1"}
			var all []Backend
			for i := range rng.IntN(5) {
				b := Backend{Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), Draining: rng.IntN(3) == 0}
				b.Node = []string{"", "n1", "n2"}[rng.IntN(3)]
				if rng.IntN(2) == 0 {
					b.ForNodes, b.ForZones = some("n1", "n2"), some("a", "b")
				}
				all = append(all, b)
			}
			f.Backends = NewBackends(all...)
			for _, inside := range []bool{true, false} {
				seen := map[string]bool{}
				for _, n := range nodes {
					got := f.Choose(n, inside)
					seen[numbers(got)] = true
					at := 0
					for b := range got.All() {
						at += slices.IndexFunc(all[at:], func(o Backend) bool { return o.Addr == b.Addr }) + 1
						require.True(t, got.draining.size() == 0 || got.ready.size() == 0, "%+v", f)
						require.Equal(t, b, &all[at-1])
					}
				}
				if !f.PerNode(inside) {
					require.Len(t, seen, 1, "%+v", f)
				}
			}
		}
	})
}

func TestLoadBalancerSpelling(t *testing.T) {
	f := Frontend{Addr: netip.MustParseAddr("fd00::1"), Protocol: SCTP, Port: 80}
	require.Equal(t, "sctp/[fd00::1]:80", f.String())
	require.Equal(t, "10.0.0.1:8080", behind("1").Some(1)[0].AddrPort().String())
	for _, tc := range []struct {
		want string
		is   fmt.Stringer
	}{
		{"cluster", ClusterAddress},
		{"nodeport", NodePort},
		{"external", ExternalAddress},
		{"ingress", IngressAddress},
		{"frontend(0)", FrontendKind(0)},
		{"anywhere", Anywhere},
		{"node of flow", NodeOfFlow},
		{"node of frontend", NodeOfFrontend},
		{"node of outside flow", NodeOfOutsideFlow},
		{"locality(9)", Locality(9)},
		{"sent on", SentOn},
		{"refused", Refused},
		{"unserved", Unserved},
		{"barred", Barred},
		{"no outcome", Outcome(0)},
	} {
		require.Equal(t, tc.want, tc.is.String())
	}
	var keeping []Locality
	for l := Anywhere; l <= NodeOfOutsideFlow; l++ {
		if l.KeepsSource() {
			keeping = append(keeping, l)
		}
	}
	require.Equal(t, []Locality{NodeOfFrontend, NodeOfOutsideFlow}, keeping)
}
