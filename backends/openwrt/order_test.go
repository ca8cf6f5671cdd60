package openwrt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
	"github.com/netloom/netloom/test/seeds"
)

// The kernel evaluates routing rules by priority, and puts one without a priority before the first: on two replicas, the rules must be in
// the same order, whatever was created first on each.

// replicas are two devices of one CNF, which get objects in different orders.
type replicas [2]*rig

func newReplicas(t testing.TB, opts simulator.Options) replicas {
	t.Helper()
	both := replicas{newRigWith(t, opts), newRigWith(t, opts)}
	for _, r := range both {
		r.set("pods", "10.5.0.1", "10.5.0.2", "10.5.0.3")
		r.put(
			of("CNFRoute", "tunnel", &intent.Route{Dst: prefix("0.0.0.0/0"), Dev: intent.Link{Name: "net2"}, Table: intent.TableCNF}),
			of("CNFRoute", "web", &intent.Route{Dst: prefix("198.51.100.0/24"), Dev: intent.Link{Name: "net0"}}),
		)
		r.reconcile(t)
	}
	return both
}

// met returns which routing rule the packet of a pod meets on each device, and by which interface it leaves. Rules of one priority are one
// rule if they are for the same table.
func (both replicas) met(src, dst string) [2]string {
	var out [2]string
	for i, r := range both {
		got := r.device.Trace(simulator.Packet{In: "net0", Src: addr(src), Dst: addr(dst), Proto: "tcp", DstPort: 80})
		steps := slices.DeleteFunc(got.Steps, func(s string) bool { return !strings.HasPrefix(s, "ip rule ") })
		for j, s := range steps {
			if prio, rest, ok := strings.Cut(s, " from "); ok && strings.Contains(prio, "prio") {
				_, table, _ := strings.Cut(rest, " lookup ")
				steps[j] = prio + " lookup " + table
			}
		}
		out[i] = fmt.Sprintf("%s by %q: %s", strings.Join(steps, "; "), got.Out, got.Verdict)
	}
	return out
}

// connect lets packets from the pods pass to two others, one of which a policy can isolate.
func (both replicas) connect() (lan, wan *intent.DeviceIntent) {
	lan = of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}, Input: intent.Accept, Forward: intent.Accept})
	wan = of("FirewallZone", "wan", &intent.Zone{Networks: []string{"wan1", "wan2"}, Forward: intent.Accept})
	for _, r := range both {
		r.set("served", "198.51.100.7")
		r.put(lan, wan, of("FirewallForwarding", "out", &intent.Forwarding{From: ref(lan), To: ref(wan)}, lan, wan))
	}
	return lan, wan
}

// requireSame requires that packets meet the same rules on both devices, and returns how often they meet one.
func (both replicas) requireSame(t testing.TB, sources, destinations []string) int {
	t.Helper()
	n := 0
	for _, src := range sources {
		for _, dst := range destinations {
			met := both.met(src, dst)
			require.Equal(t, met[0], met[1], "%s -> %s\n%s\n%s", src, dst, both[0].device.Kernel(), both[1].device.Kernel())
			n += strings.Count(met[0], "ip rule ")
		}
	}
	return n
}

// TestReplicasThatGetRulesInDifferentOrder has one replica miss the creation of an application, and get it after a rule that is older there.
func TestReplicasThatGetRulesInDifferentOrder(t *testing.T) {
	both := newReplicas(t, simulator.Options{})
	app := of("SdewanApplication", "app", &intent.Application{Sources: "pods"})
	rule := of("CNFRouteRule", "rr", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Priority: 500})
	for i, order := range [][]*intent.DeviceIntent{{app, rule}, {rule, app}} {
		for _, e := range order {
			both[i].put(e)
			require.Empty(t, both[i].reconcile(t).Skips)
		}
		both[i].requireSettled(t)
	}
	both.requireSame(t, []string{"10.5.0.1", "10.5.0.2", "10.5.0.9"}, []string{"198.51.100.7", "203.0.113.1"})
	require.Equal(t, "ip rule from 10.5.0.1 lookup 40 by \"net2\": reject", both.met("10.5.0.1", "198.51.100.7")[0], "an application comes first")
}

// TestRulesInAnyOrder puts rules, applications and a policy onto two devices in random orders, with restarts and rules made by hand in between,
// and with a kernel that is reported unreliably or without its tables.
func TestRulesInAnyOrder(t *testing.T) {
	decided := 0
	seeds.Each(t, "ruleorder", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		both := newReplicas(t, simulator.Options{NoTrailingBlanks: seed%4 == 0})
		both.connect()
		both[seed%2].device.SetUnsteady(simulator.Unsteady{Empty: .3, Truncated: .1, Repeated: .1, Reordered: .3}, seed)
		var all []*intent.DeviceIntent
		tables := []string{"", "40"}
		for i := range 3 + rng.IntN(6) {
			src := prefix(fmt.Sprintf("10.5.0.%d/%d", 4*rng.IntN(2), []int{16, 24, 30}[rng.IntN(3)])).Masked()
			spec := &intent.RouteRule{Src: src, Table: tables[rng.IntN(2)], Priority: []int{0, 0, 300 + rng.IntN(4), 3000 + rng.IntN(4)}[rng.IntN(4)]}
			if rng.IntN(3) == 0 {
				spec.Dst = prefix("198.51.100.0/24")
			}
			all = append(all, of("CNFRouteRule", fmt.Sprintf("r-%d", i), spec))
		}
		all = append(all, of("SdewanApplication", "app", &intent.Application{Sources: "pods"}))
		for _, r := range both {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			policy := rng.IntN(len(all))
			for i, e := range all {
				if i == policy {
					r.isolate("served")
				}
				if rng.IntN(6) == 0 {
					require.NoError(t, r.device.AddToKernel(fmt.Sprintf("ip rule add from 10.9.9.%d lookup main", i)))
				}
				r.put(e)
				r.reconcile(t)
				if rng.IntN(4) == 0 {
					r.restart(t, "a")
				}
			}
			if rng.IntN(2) == 0 {
				r.device.Restart() // the container: the kernel keeps what it has
			}
			r.reconcileFully(t)
			r.reconcileFully(t)
			r.requireSettled(t)
		}
		require.Equal(t, both[0].skips, both[1].skips)
		decided += both.requireSame(t, []string{"10.5.0.1", "10.5.0.2", "10.5.0.5", "10.5.0.77", "10.5.7.7"}, []string{"198.51.100.7", "203.0.113.1"})
	})
	require.Positive(t, decided)
}

// TestRulesOfOnePriority that could both match a packet are a conflict, which names both.
func TestRulesOfOnePriority(t *testing.T) {
	for _, tc := range []struct {
		name   string
		first  intent.RouteRule
		second intent.RouteRule
		want   string // why the second is not written; "" if it is
	}{
		{"overlapping", intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40"}, intent.RouteRule{Src: prefix("10.5.1.0/24")}, "both can match a packet"},
		{"crossing", intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40"}, intent.RouteRule{Dst: prefix("10.6.0.0/16")}, "both can match a packet"},
		{"sources apart", intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40"}, intent.RouteRule{Src: prefix("10.6.0.0/16")}, ""},
		{"destinations apart", intent.RouteRule{Dst: prefix("10.5.0.0/16"), Table: "40"}, intent.RouteRule{Dst: prefix("10.6.0.0/16")}, ""},
		{"marks apart", intent.RouteRule{Mark: "0x1", Table: "40"}, intent.RouteRule{Mark: "2"}, ""},
		{"one mark", intent.RouteRule{Mark: "0x1", Table: "40"}, intent.RouteRule{Mark: "1", Src: prefix("10.5.0.0/16")}, "both can match a packet"},
		{"with any mark", intent.RouteRule{Mark: "0x1", Table: "40"}, intent.RouteRule{Src: prefix("10.5.0.0/16")}, "both can match a packet"},
		{"all others", intent.RouteRule{Src: prefix("10.5.0.0/16"), Not: true, Table: "40"}, intent.RouteRule{Src: prefix("10.5.1.0/24")}, ""},
		{"not all others", intent.RouteRule{Src: prefix("10.5.0.0/16"), Not: true, Table: "40"}, intent.RouteRule{Src: prefix("10.0.0.0/8")}, "both can match a packet"},
		{"both all others", intent.RouteRule{Src: prefix("10.5.0.0/16"), Not: true, Table: "40"}, intent.RouteRule{Src: prefix("10.6.0.0/16"), Not: true}, "both can match a packet"},
		{"one table by two names", intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "254"}, intent.RouteRule{Src: prefix("10.5.1.0/24"), Table: "main"}, ""},
		{"one that the kernel takes for the other", intent.RouteRule{Src: prefix("10.5.0.0/16"), Dst: prefix("10.6.0.0/16"), Table: "40"}, intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40"}, "the kernel takes them for one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			tc.first.Priority, tc.second.Priority = 7, 7
			first, second := of("CNFRouteRule", "a", &tc.first), of("CNFRouteRule", "b", &tc.second)
			r.put(second)
			require.Empty(t, r.reconcile(t).Skips)
			r.put(first)
			p := r.reconcile(t)
			if tc.want == "" {
				require.Empty(t, p.Skips)
				r.requireSettled(t)
				return
			}
			require.Len(t, p.Skips, 1)
			require.Contains(t, skipOf(p, second), tc.want)
			require.Contains(t, skipOf(p, second), "shop/cnf/CNFRouteRule/shop/a has priority 7 too")
			require.Empty(t, r.readBack(t).Ops)
			tc.second.Priority = 8
			r.put(of("CNFRouteRule", "b", &tc.second))
			require.Empty(t, r.reconcile(t).Skips)
			r.requireSettled(t)
		})
	}
}

// TestRulesWithoutPriority get one, the same on every replica, and say so if it decides.
func TestRulesWithoutPriority(t *testing.T) {
	r := newRig(t)
	first, second := of("CNFRouteRule", "a", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40"}), of("CNFRouteRule", "b", &intent.RouteRule{Dst: prefix("10.6.0.0/16")})
	third := of("CNFRouteRule", "c", &intent.RouteRule{Dst: prefix("10.7.0.0/16"), Table: "40"})
	r.put(first, second, third)
	p := r.reconcile(t)
	require.Len(t, p.Skips, 1)
	require.True(t, p.Skips[0].InEffect, "both are written")
	require.Contains(t, skipOf(p, second), "shop/cnf/CNFRouteRule/shop/a can match the same packets")
	require.Contains(t, skipOf(p, second), "set spec.prio")
	require.Equal(t, 3, strings.Count(r.device.Kernel(), "ip rule add prio "), r.device.Kernel())
	r.requireSettled(t)
	r.put(of("CNFRouteRule", "b", &intent.RouteRule{Dst: prefix("10.6.0.0/16"), Priority: 5}))
	require.Empty(t, r.reconcile(t).Skips)
	r.requireSettled(t)
}

// TestApplicationBehindAHandMadeRule comes first again, and says so while it cannot.
func TestApplicationBehindAHandMadeRule(t *testing.T) {
	r := newRig(t)
	r.set("pods", "10.5.0.1")
	r.put(of("SdewanApplication", "app", &intent.Application{Sources: "pods"}))
	require.Empty(t, r.reconcile(t).Skips)
	require.NoError(t, r.device.AddToKernel("ip rule add prio 100 from 10.5.0.0/16 lookup main"))
	p := r.reconcileFully(t)
	require.Equal(t, 1, verbs(p)[backends.Update])
	require.Equal(t, 1, p.Drift())
	require.Empty(t, p.Skips)
	lines := strings.Split(r.device.Kernel(), "\n")
	require.Equal(t, "ip rule add from 10.5.0.1 lookup 40", lines[0])
	r.requireSettled(t)
}
