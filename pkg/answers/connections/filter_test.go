package connections_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// TestFiltersLeaveOut compares lists of some connections with the list of all.
func TestFiltersLeaveOut(t *testing.T) {
	seeds.Each(t, "connections", func(t *testing.T, seed uint64) {
		c, state := stateOf(t, seed)
		w := world.New(state)
		report := connections.Of(w, connections.Filter{})
		all, rng := read(t, &report, w), policygen.NewRand(seed)
		ends := places(c, w)
		some := func() ([]world.End, map[place]bool) {
			var out []world.End
			in := map[place]bool{}
			for range 3 {
				p := ends[rng.IntN(len(ends))]
				found, err := w.Ends(p.String(), "")
				require.NoError(t, err)
				out = append(out, found...)
				for _, q := range ends {
					if p.pod != "" && q.pod == p.pod || q == p {
						in[q] = true
					}
				}
			}
			return out, in
		}
		from, sources := some()
		to, destinations := some()
		for _, tc := range []struct {
			name   string
			filter connections.Filter
			has    func(from, to place, protocol intent.Protocol, port uint16) bool
		}{
			{"from", connections.Filter{From: from}, func(from, _ place, _ intent.Protocol, _ uint16) bool { return sources[from] }},
			{"to", connections.Filter{To: to}, func(_, to place, _ intent.Protocol, _ uint16) bool { return destinations[to] }},
			{"both", connections.Filter{From: from, To: to}, func(from, to place, _ intent.Protocol, _ uint16) bool {
				return sources[from] && destinations[to]
			}},
			{"of", connections.Filter{Of: from}, func(from, to place, _ intent.Protocol, _ uint16) bool { return sources[from] || sources[to] }},
			{
				"port",
				connections.Filter{Port: connections.PortFilter(name.Port{Protocol: intent.TCP, Number: 80})},
				func(_, _ place, protocol intent.Protocol, port uint16) bool {
					return protocol == intent.TCP && port == 80
				},
			},
			{"policed", connections.Filter{Policed: true}, func(from, to place, _ intent.Protocol, _ uint16) bool {
				return policed(w, intent.Egress, from) || policed(w, intent.Ingress, to)
			}},
		} {
			report := connections.Of(w, tc.filter)
			l := read(t, &report, w)
			for _, from := range ends {
				for _, to := range ends {
					if from.addr == to.addr || from.addr.Is4() != to.addr.Is4() || from.pod == "" && to.pod == "" {
						continue
					}
					for _, protocol := range []intent.Protocol{intent.TCP, intent.UDP} {
						port := []uint16{53, 80, 81, 443, 8080}[rng.IntN(5)]
						want := tc.has(from, to, protocol, port) && all.allows(from, to, protocol, port)
						require.Equal(t, want, l.allows(from, to, protocol, port), "seed %d: %s: %s -> %s %s/%d", seed, tc.name, from, to, protocol, port)
					}
				}
			}
		}
	})
}

// policed reports whether a policy selects a pod in a direction, other than what nodes are allowed.
func policed(w *world.World, d intent.Direction, p place) bool {
	for _, policy := range w.PoliciesOf(d, intent.Party{Key: keyOf(w, p.pod)}) {
		if policy.Tier == intent.TierNetworkPolicy || policy.Tier.Ordered() && len(policy.Rules) > 0 {
			return true
		}
	}
	return false
}

func keyOf(w *world.World, pod string) object.Key {
	for _, e := range w.Endpoints() {
		if w.NameOf(e.Key) == pod {
			return e.Key
		}
	}
	return object.Key{Name: "none"}
}

// TestPodsOfAnAddressAndAService chooses ends that stand for pods.
func TestPodsOfAnAddressAndAService(t *testing.T) {
	w := world.New(stateOfText(t, shopText))
	for _, text := range []string{"svc/shop/db", "10.0.0.2", "shop/db-0"} {
		ends, err := w.Ends(text, "")
		require.NoError(t, err)
		report := connections.Of(w, connections.Filter{To: ends})
		lines, named := report.Lines()
		require.Empty(t, named)
		require.Equal(t, []connections.Line{{From: "shop/web-0", To: "shop/db-0", Ports: "TCP 5432"}}, lines, text)
	}
}
