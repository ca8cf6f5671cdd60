package openwrt_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
	"github.com/netloom/netloom/test/seeds"
)

// TestRulesThatOverlapAreInTheOrderOfTheirNames changes rules between zones on two devices in random orders, with restarts and writes of
// others in between: both decide as the first rule by name that matches, and a device that is in sync gets no more writes.
func TestRulesThatOverlapAreInTheOrderOfTheirNames(t *testing.T) {
	decided := map[simulator.Verdict]int{}
	seeds.Each(t, "sequence", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		both := newReplicas(t, simulator.Options{})
		lan, wan := both.connect()
		const n = 8
		rules := make([]*intent.FirewallRule, n)
		redraw := func(i int) *intent.DeviceIntent {
			rules[i] = &intent.FirewallRule{
				From: ref(lan), To: ref(wan),
				Match:   intent.Match{Src: prefix(fmt.Sprintf("10.5.0.%d/%d", rng.IntN(4), 30+rng.IntN(3))).Masked(), Protocol: "tcp"},
				Decides: []intent.Disposition{intent.Accept, intent.Reject, intent.Drop}[rng.IntN(3)],
			}
			return of("FirewallRule", fmt.Sprintf("r-%d", i), rules[i], lan, wan)
		}
		edit := func(list ...*intent.DeviceIntent) {
			for _, r := range both {
				rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				for _, e := range list {
					r.put(e)
					if rng.IntN(2) == 0 {
						r.reconcile(t)
					}
				}
				if rng.IntN(3) == 0 {
					r.restart(t, "a")
				}
				r.reconcile(t)
				r.requireSettled(t)
			}
		}
		check := func() {
			for host := range 4 {
				src := fmt.Sprintf("10.5.0.%d", host)
				want := simulator.Accept // the forwarding's
				for _, rule := range rules {
					if rule.Match.Src.Contains(addr(src)) {
						want = map[intent.Disposition]simulator.Verdict{intent.Accept: simulator.Accept, intent.Reject: simulator.Reject, intent.Drop: simulator.Drop}[rule.Decides]
						break
					}
				}
				for i, r := range both {
					got := r.device.Trace(simulator.Packet{In: "net0", Src: addr(src), Dst: addr("203.0.113.1"), Proto: "tcp", DstPort: 80})
					require.Equal(t, want, got.Verdict, "from %s on replica %d: %v", src, i, got.Steps)
				}
				decided[want]++
			}
		}
		var all []*intent.DeviceIntent
		for i := range n {
			all = append(all, redraw(i))
		}
		edit(all...)
		check()
		for range 4 {
			i := rng.IntN(n)
			edit(redraw(i), redraw((i+1+rng.IntN(n-1))%n))
			check()
		}
	})
	for _, v := range []simulator.Verdict{simulator.Accept, simulator.Reject, simulator.Drop} {
		require.Positive(t, decided[v], v)
	}
}

// TestOnlyWhatTheOrderTakesIsWrittenAgain changes the first of many rules that decide the same, before one that decides something else.
func TestOnlyWhatTheOrderTakesIsWrittenAgain(t *testing.T) {
	r := newRig(t)
	lan := of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}, Input: intent.Accept, Forward: intent.Accept})
	rule := func(i int, port uint16, does intent.Disposition) *intent.DeviceIntent {
		return of("FirewallRule", fmt.Sprintf("r-%02d", i), &intent.FirewallRule{
			From: ref(lan), Match: intent.Match{Protocol: "tcp", DstPort: port}, Decides: does,
		}, lan)
	}
	r.put(lan)
	for i := range 30 {
		r.put(rule(i, uint16(1000+i), intent.Accept))
	}
	r.put(rule(30, 2000, intent.Drop), rule(31, 2001, intent.Drop), rule(32, 2002, intent.Accept))
	r.reconcile(t)
	r.requireSettled(t)

	before := r.writes()
	r.put(rule(0, 999, intent.Accept))
	r.reconcile(t)
	const reload = 3 // a note before it, and its removal
	require.Equal(t, reload+4, r.writes()-before, "the rule itself, those that decide something else, and the one that comes after them")
	r.requireSettled(t)
}

// TestARejectedRuleMovesNoOther has a rule that the device rejects come before another one, which is not written at every attempt.
func TestARejectedRuleMovesNoOther(t *testing.T) {
	r := newRig(t)
	policy := of("Mwan3Policy", "p", &intent.WANPolicy{Members: []intent.WANMember{{Network: "wan1", Metric: 1, Weight: 1}}})
	lost := of("Mwan3Rule", "a-lost", &intent.WANRule{Policy: intent.DeviceRef{Name: "missing"}})
	web := of("Mwan3Rule", "web", &intent.WANRule{Policy: ref(policy)}, policy)
	r.put(policy, lost, web)
	first := r.reconcile(t)
	require.NotEmpty(t, first.Skips)
	at := slices.IndexFunc(first.Ops, func(op backends.Op) bool { return op.Origin == web.Origin.String() })
	require.GreaterOrEqual(t, at, 0)
	written := func() int { return r.puts(first.Ops[at].Name) }
	require.Equal(t, 1, written())
	for restarts := range 4 {
		if restarts == 3 {
			r.restart(t, "a")
		}
		plan := r.readBack(t)
		for _, op := range plan.Ops {
			require.NotEqual(t, web.Origin.String(), op.Origin, "%v", plan.Ops)
		}
		require.NoError(t, r.backend.Apply(t.Context(), plan))
		require.NotEmpty(t, plan.Skips)
		require.Equal(t, 1, written(), "it stays where it is")
	}
	made := of("Mwan3Rule", "a-lost", &intent.WANRule{Policy: ref(policy), Sticky: intent.On}, policy)
	r.put(made)
	r.reconcile(t)
	r.reconcileFully(t)
	r.requireSettled(t)
}

// puts counts how often an object was written.
func (r *rig) puts(name string) int {
	n := 0
	for _, q := range r.device.Requests() {
		if q.Method == http.MethodPut && strings.HasSuffix(q.Path, "/"+name) {
			n++
		}
	}
	return n
}
