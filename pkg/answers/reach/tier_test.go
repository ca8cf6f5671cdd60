package reach_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

// worldPlaces lists the endpoints of a state as places, and everything outside. An endpoint without exclusive addresses is
// left out: two places of one address are one place to the network.
func worldPlaces(state *backendtest.State, snapshots ...*intent.Snapshot) []reach.Place {
	owners := map[string]int{}
	for _, e := range state.Endpoints {
		for _, a := range e.Addrs {
			owners[a.String()]++
		}
	}
	var places []reach.Place
	taken := map[string]bool{}
	for _, p := range reach.PlacesOf(state.Endpoints) {
		taken[p.Party.Addr.String()] = true
		if owners[p.Party.Addr.String()] == 1 {
			places = append(places, p)
		}
	}
	return append(places, reach.Outside(func(a netip.Addr) bool { return taken[a.String()] }, snapshots...)...)
}

// TestTiersAreWhatEvaluateSays compares the traffic between classes with the verdicts of snapshots with rules that allow, deny
// and pass in every tier, by pair and by table.
func TestTiersAreWhatEvaluateSays(t *testing.T) {
	deciding := map[string]int{}
	seeds.Each(t, "tiers", func(t *testing.T, seed uint64) {
		s := intent.NewSnapshot()
		for step, state := range backendtest.History(seed, 12) {
			s = backendtest.Advance(s, state)
			if step%4 != 3 {
				continue
			}
			when := fmt.Sprintf("seed %d step %d", seed, step)
			classes := reach.Classify(worldPlaces(state, s), s)
			table := reach.NewTable(0, classes, classes)
			var column []int
			for j, to := range classes {
				column = table.Column(j, column)
				for k, from := range classes {
					requireTraffic(t, when, s, from, to, deciding)
					if from.Family == to.Family {
						traffic := from.Traffic(0, to)
						require.True(t, traffic.Equal(table.Kind(column[k])), "%s: %s -> %s: %s, not %s", when, from.Places[0],
							to.Places[0], table.Kind(column[k]), traffic)
					}
				}
			}
		}
	})
	if seeds.All() {
		for _, tier := range intent.Tiers() {
			for _, verdict := range []string{"allow", "deny"} {
				if tier == intent.TierSystem && verdict == "deny" {
					continue
				}
				require.Greater(t, deciding[tier.String()+" "+verdict], 40, "%s %s: %v", tier, verdict, deciding)
			}
		}
		require.Greater(t, deciding["passed"], 100)
	}
}

// requireTraffic evaluates flows between the first and the last places of two classes.
func requireTraffic(t *testing.T, when string, s *intent.Snapshot, from, to *reach.Class, deciding map[string]int) {
	t.Helper()
	src, dst := from.Places[0], to.Places[len(to.Places)-1]
	if from.Family != to.Family || src.Party.Addr == dst.Party.Addr {
		return
	}
	traffic := from.Traffic(0, to)
	for _, proto := range []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP, intent.ICMP} {
		for _, port := range []uint16{0, 1, 53, 79, 80, 81, 90, 91, 8080, 8081, 65535} {
			v := s.Evaluate(intent.Flow{Src: src.Party, Dst: dst.Party, Protocol: proto, Port: port})
			if v.Balanced != nil {
				continue
			}
			require.Equal(t, v.Allowed, traffic.Has(proto, port), "%s: %s -> %s %s/%d: %s\n%+v", when, src, dst, proto, port, traffic, v)
			for _, d := range []intent.Decision{v.Egress, v.Ingress} {
				if len(d.By) > 0 {
					verdict := map[bool]string{true: " allow", false: " deny"}[d.Allowed]
					deciding[d.Tier.String()+verdict]++
				}
				deciding["passed"] += len(d.Passed)
			}
		}
	}
}

// TestImpactOfTiers compares the differences between two states of random policies of all tiers with their verdicts.
func TestImpactOfTiers(t *testing.T) {
	changed := 0
	seeds.Each(t, "tierimpact", func(t *testing.T, seed uint64) {
		before := intent.NewSnapshot()
		for step, state := range backendtest.History(seed, 10) {
			after := backendtest.Advance(before, state)
			if step < 4 {
				before = after
				continue
			}
			places := worldPlaces(state, before, after)
			changes := reach.Impact(before, after, places, nil)
			changed += len(changes)
			differs := map[pair]reach.Change{}
			for _, c := range changes {
				for from, to := range c.Pairs() {
					differs[pair{from, to}] = c
				}
			}
			for _, src := range places {
				for _, dst := range places {
					if src.Party.Addr == dst.Party.Addr || src.Party.Addr.Is4() != dst.Party.Addr.Is4() ||
						src.Party.Key == (object.Key{}) && dst.Party.Key == (object.Key{}) {
						continue
					}
					f := intent.Flow{Src: src.Party, Dst: dst.Party, Protocol: intent.TCP, Port: 80}
					was, is := before.Evaluate(f), after.Evaluate(f)
					if was.Balanced != nil || is.Balanced != nil {
						continue
					}
					c := differs[pair{src, dst}]
					require.Equal(t, !was.Allowed && is.Allowed, c.Opened.Has(intent.TCP, 80), "seed %d step %d: %s -> %s opens", seed, step, src, dst)
					require.Equal(t, was.Allowed && !is.Allowed, c.Closed.Has(intent.TCP, 80), "seed %d step %d: %s -> %s closes", seed, step, src, dst)
				}
			}
			before = after
		}
	})
	if seeds.All() {
		require.Greater(t, changed, 100, "few steps had an effect: the test shows little")
	}
}

// TestOrderOfEvaluation has what random policies rarely have: a system tier that denies, which no translation makes, and
// priorities in another order than names.
func TestOrderOfEvaluation(t *testing.T) {
	rule := func(action intent.Action, first, last uint16) intent.Rule {
		return intent.Rule{
			Action: action, Peer: intent.Peer{Kind: intent.PeerSet, Set: "b"},
			Ports: intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: first, Last: last}}},
		}
	}
	for _, tc := range []struct {
		name     string
		policies []*intent.Policy
		want     string
	}{
		{"the system tier denies", []*intent.Policy{
			{ID: "isolation", Isolates: true, Rules: []intent.Rule{rule(intent.Allow, 0, 80)}},
			{ID: "system", Tier: intent.TierSystem, Rules: []intent.Rule{
				rule(intent.Deny, 80, 80), rule(intent.Pass, 81, 81), rule(intent.Allow, 80, 90),
			}},
		}, "tcp/0-79, tcp/82-90"},
		{"the lowest priority first", []*intent.Policy{
			{ID: "a", Tier: intent.TierAdmin, Priority: 9, Rules: []intent.Rule{rule(intent.Allow, 80, 90)}},
			{ID: "b", Tier: intent.TierAdmin, Priority: 5, Rules: []intent.Rule{rule(intent.Deny, 80, 80), rule(intent.Pass, 81, 81)}},
			{ID: "c", Tier: intent.TierBaseline, Priority: 9, Rules: []intent.Rule{rule(intent.Allow, 91, 91)}},
			{ID: "d", Tier: intent.TierBaseline, Priority: 5, Rules: []intent.Rule{rule(intent.Deny, 81, 65535)}},
		}, "everything except tcp/80-81, tcp/91-65535"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := intent.Endpoint{Key: object.Key{Namespace: "shop", Name: "a"}, Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}
			b := intent.Endpoint{Key: object.Key{Namespace: "shop", Name: "b"}, Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.2")}}
			next := intent.NewSnapshot().Next()
			next.CreateSet(&intent.Set{ID: "a", Members: backendtest.NewMembers(a)})
			next.CreateSet(&intent.Set{ID: "b", Members: backendtest.NewMembers(b)})
			for _, p := range tc.policies {
				p.Subject = "a"
				next.PutPolicy(p)
			}
			s := next.Commit()
			classes := reach.Classify(reach.PlacesOf([]intent.Endpoint{a, b}), s)
			require.Len(t, classes, 2)
			require.Equal(t, tc.want, classes[1].Traffic(0, classes[0]).String())
			requireTraffic(t, "policies", s, classes[1], classes[0], map[string]int{})
		})
	}
}
