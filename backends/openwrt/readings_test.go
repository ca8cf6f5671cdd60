package openwrt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// unsteady spoils the statuses in every way, the real device's included.
func unsteady() simulator.Unsteady {
	out := simulator.RealUnsteady()
	out.Truncated, out.Repeated, out.Reordered = 0.2, 0.2, 0.5
	return out
}

// routed puts routes, rules and an application into the table cnf.
func (r *rig) routed(t testing.TB) {
	t.Helper()
	r.set("pods", "10.0.0.1", "10.0.0.2")
	r.put(
		of("CNFRoute", "r-1", &intent.Route{Dst: prefix("10.6.0.0/16"), Via: addr("172.16.70.1"), Dev: intent.Link{Name: "net0"}, Table: intent.TableCNF}),
		of("CNFRoute", "r-2", &intent.Route{Dst: prefix("10.7.0.0/16"), Via: addr("172.16.70.2"), Dev: intent.Link{Name: "net0"}, Table: intent.TableCNF}),
		of("CNFRoute", "r-3", &intent.Route{Dst: prefix("10.8.0.0/16"), Via: addr("172.16.70.2"), Dev: intent.Link{Name: "net0"}}),
		of("CNFRouteRule", "rr", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40", Mark: "16", Priority: 100}),
		of("CNFRouteRule", "any", &intent.RouteRule{Src: prefix("10.9.0.0/16"), Table: "40"}),
		of("SdewanApplication", "a", &intent.Application{Sources: "pods"}),
	)
	require.Empty(t, r.reconcile(t).Skips)
}

// TestUnsteadyStatusAtRest reads a device back as often as in an hour, which lies about its kernel at random: nothing is found.
func TestUnsteadyStatusAtRest(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := newRig(t)
			r.device.SetUnsteady(unsteady(), seed)
			r.routed(t)
			once := r.device.Kernel()
			before := r.writes()
			for range 120 {
				p := r.readBack(t)
				require.Empty(t, text(t, p))
				require.Empty(t, p.Skips)
			}
			require.Equal(t, before, r.writes())
			require.Equal(t, once, r.device.Kernel())
		})
	}
}

// TestUnsteadyStatusOfWhatIsMissing has a device that lies lose some of its routes and rules in fact: they are repaired, and nothing else is written.
func TestUnsteadyStatusOfWhatIsMissing(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := newRig(t)
			r.device.SetUnsteady(unsteady(), seed)
			r.routed(t)
			once := strings.Split(r.device.Kernel(), "\n")
			require.Equal(t, 1, r.device.RemoveFromKernel("ip route add table 40 10.6.0.0/16 via 172.16.70.1 dev net0"))
			require.Equal(t, 1, r.device.RemoveFromKernel("ip rule add from 10.0.0.2 lookup 40"))
			p := r.reconcileFully(t)
			require.Equal(t, 2, p.Drift(), text(t, p))
			require.Empty(t, p.Skips)
			require.ElementsMatch(t, once, strings.Split(r.device.Kernel(), "\n"))
			require.Empty(t, text(t, r.readBack(t)))
		})
	}
}

// TestTableThatEmpties is believed at the second read-back: until then, its routes are in sync.
func TestTableThatEmpties(t *testing.T) {
	r := newRig(t)
	r.routed(t)
	once := strings.Split(r.device.Kernel(), "\n")
	r.readBack(t)
	for _, line := range once {
		if strings.Contains(line, "ip route add table 40") {
			require.Equal(t, 1, r.device.RemoveFromKernel(line))
		}
	}
	p := r.reconcileFully(t)
	require.Empty(t, p.Ops, text(t, p))
	require.Empty(t, p.Skips)
	p = r.reconcileFully(t)
	require.Equal(t, 2, p.Drift(), text(t, p))
	require.ElementsMatch(t, once, strings.Split(r.device.Kernel(), "\n"))
	r.requireSettled(t)
}

// TestUnsteadyStatusOfLeftovers removes what a lying device has kept of deleted objects, and the copies of others, but not because an entry is
// reported twice.
func TestUnsteadyStatusOfLeftovers(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := newRig(t)
			r.device.SetUnsteady(unsteady(), seed)
			r.routed(t)
			once := strings.Split(r.device.Kernel(), "\n")
			gone := of("CNFRoute", "gone", &intent.Route{Dst: prefix("10.1.0.0/16"), Via: addr("172.16.70.1"), Dev: intent.Link{Name: "net0"}, Table: intent.TableCNF})
			r.put(gone)
			r.reconcile(t)
			r.containerRestart(t, 1)
			r.drop(gone)
			for range 3 {
				r.reconcileFully(t)
			}
			require.ElementsMatch(t, once, strings.Split(r.device.Kernel(), "\n"))
		})
	}
}

// TestSenselessStatus has a device report what no kernel has: this is said, and nothing follows from it.
func TestSenselessStatus(t *testing.T) {
	for _, tc := range []struct{ name, module, status, want string }{
		{"no rules", "rule", `[]`, "no rules, not even that of the table main"},
		{"a rule without a priority", "rule", `[{"src":"all","table":"main"}]`, `a rule with priority ""`},
		{"rules that are no list", "rule", `{"a":1}`, "not a list of rules"},
		{"no tables", "route", `{}`, "not the routes of tables"},
		{"tables that are a text", "route", `"main"`, "not the routes of tables"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.routed(t)
			require.NoError(t, r.device.SetStatus(tc.module, tc.status))
			p := r.readBack(t)
			require.Empty(t, p.Ops, text(t, p))
			require.Len(t, p.Skips, 1)
			require.Equal(t, "kernel", p.Skips[0].Intent)
			require.Contains(t, p.Skips[0].Reason, tc.want)
		})
	}
}

// TestCommandsWithoutTrailingBlanks has a newer ip, whose lines the scripts of the device read without their last word: the tables of rules and
// the interfaces of routes.
func TestCommandsWithoutTrailingBlanks(t *testing.T) {
	r := newRigWith(t, simulator.Options{NoTrailingBlanks: true})
	r.routed(t)
	once := strings.Split(r.device.Kernel(), "\n")
	r.requireSettled(t)
	require.Equal(t, 1, r.device.RemoveFromKernel("ip route add table 40 10.6.0.0/16 via 172.16.70.1 dev net0"))
	require.Equal(t, 1, r.device.RemoveFromKernel("ip rule add from 10.0.0.2 lookup 40"))
	p := r.reconcileFully(t)
	require.Equal(t, 2, p.Drift(), text(t, p))
	require.ElementsMatch(t, once, strings.Split(r.device.Kernel(), "\n"))
	r.containerRestart(t, 1)
	r.drop(of("CNFRouteRule", "rr", nil), of("CNFRoute", "r-3", nil))
	require.Empty(t, r.reconcileFully(t).Skips)
	require.Len(t, strings.Split(r.device.Kernel(), "\n"), len(once)-2, r.device.Kernel())
	require.Zero(t, linesOf(r, "fwmark"))
	require.Zero(t, linesOf(r, "10.8.0.0/16"))
	r.requireSettled(t)
}

// TestTableThatIsNotShown has a rule left behind that may be either of two, on a device that does not show its table: it stays, which is said.
func TestTableThatIsNotShown(t *testing.T) {
	r := newRigWith(t, simulator.Options{NoTrailingBlanks: true})
	rule := func(table string) *intent.DeviceIntent {
		return of("CNFRouteRule", "r", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: table, Priority: 9})
	}
	r.put(rule("41"))
	r.reconcile(t)
	r.put(rule("42"))
	r.reconcile(t)
	r.containerRestart(t, 1)
	r.drop(rule("42"))
	p := r.reconcileFully(t)
	require.Empty(t, p.Ops)
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "the device does not show the table of the rule: prio 9 from 10.5.0.0/16")
	require.Equal(t, 1, linesOf(r, "10.5.0.0/16"))
}
