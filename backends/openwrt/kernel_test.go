package openwrt_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// The kernel takes a route, a rule or an address of an application once, and loses it when either object goes.

func TestAddressesOfSeveralApplications(t *testing.T) {
	r := newRig(t)
	r.set("first", "10.0.0.1", "10.0.0.2")
	r.set("second", "10.0.0.2", "10.0.0.3")
	first, second := of("SdewanApplication", "a", &intent.Application{Sources: "first"}), of("SdewanApplication", "b", &intent.Application{Sources: "second"})
	r.put(first, second)
	r.reconcile(t)
	requireKernel(t, r, "from 10.0.0.1 lookup 40", "from 10.0.0.2 lookup 40", "from 10.0.0.3 lookup 40")
	r.drop(first)
	r.reconcile(t)
	requireKernel(t, r, "from 10.0.0.2 lookup 40", "from 10.0.0.3 lookup 40")
	r.put(first)
	r.reconcile(t)
	r.set("first", "10.0.0.3", "10.0.0.4") // one gives to the other what that gives to it
	r.set("second", "10.0.0.1", "10.0.0.2")
	r.reconcile(t)
	requireKernel(t, r, "from 10.0.0.1 lookup 40", "from 10.0.0.2 lookup 40", "from 10.0.0.3 lookup 40", "from 10.0.0.4 lookup 40")
	r.requireSettled(t)
	r.set("first")
	r.reconcile(t)
	requireKernel(t, r, "from 10.0.0.1 lookup 40", "from 10.0.0.2 lookup 40")
	require.Empty(t, r.skips)
}

func requireKernel(t testing.TB, r *rig, want ...string) {
	t.Helper()
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(r.device.Kernel()), "\n") {
		got = append(got, strings.TrimPrefix(strings.TrimPrefix(line, "ip rule add "), "ip route add "))
	}
	require.ElementsMatch(t, want, got)
}

func TestRoutesThatTakeEachOthersPlace(t *testing.T) {
	r := newRig(t)
	route := func(name, dst, via string) *intent.DeviceIntent {
		return of("CNFRoute", name, &intent.Route{Dst: prefix(dst), Via: addr(via), Dev: intent.Link{Name: "net0"}})
	}
	r.put(route("a", "10.1.0.0/16", "172.16.70.1"), route("b", "10.2.0.0/16", "172.16.70.2"))
	r.reconcile(t)
	r.put(route("a", "10.2.0.0/16", "172.16.70.1"), route("b", "10.1.0.0/16", "172.16.70.2"))
	r.reconcile(t)
	requireKernel(t, r, "10.2.0.0/16 via 172.16.70.1 dev net0", "10.1.0.0/16 via 172.16.70.2 dev net0")
	r.requireSettled(t)
	r.drop(route("a", "10.2.0.0/16", "172.16.70.1"))
	r.put(route("c", "10.2.0.0/16", "172.16.70.3")) // another object for the same destination
	r.reconcile(t)
	requireKernel(t, r, "10.2.0.0/16 via 172.16.70.3 dev net0", "10.1.0.0/16 via 172.16.70.2 dev net0")
	r.put(route("d", "10.2.0.0/16", "172.16.70.4"))
	p := r.reconcile(t)
	require.Empty(t, p.Ops)
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "route to 10.2.0.0/16 in table default is already used by shop/cnf/CNFRoute/shop/c")
	r.drop(route("c", "10.2.0.0/16", "172.16.70.3"))
	require.Empty(t, r.reconcile(t).Skips)
	requireKernel(t, r, "10.2.0.0/16 via 172.16.70.4 dev net0", "10.1.0.0/16 via 172.16.70.2 dev net0")
}

func TestTranslationsByTheirPlace(t *testing.T) {
	r := newRig(t)
	nat := func(name string, place int, to string) *intent.DeviceIntent {
		return of("CNFNAT", name, &intent.LinkNAT{Place: place, Translation: intent.Translation{
			Kind: intent.DestinationNAT, Addr: addr(to), Match: intent.Match{Protocol: "tcp"},
		}})
	}
	want := ""
	for place := 1; place <= 7; place++ {
		to := fmt.Sprintf("10.0.0.%d", place)
		r.put(nat(fmt.Sprintf("n-%d", place), place, to))
		want += "iptables -t nat -A PREROUTING -p tcp -j DNAT --to-destination " + to + "\n"
	}
	r.put(nat("end", 0, "10.0.0.9"))
	r.reconcile(t)
	require.Equal(t, want+"iptables -t nat -A PREROUTING -p tcp -j DNAT --to-destination 10.0.0.9\n", r.device.Kernel())
	r.requireSettled(t)
}

// containerRestart has the container of the CNF restart: the device forgets everything, the kernel does not.
func (r *rig) containerRestart(t testing.TB, times int) {
	t.Helper()
	r.device.Restart()
	next := cnf()
	next.Run = fmt.Sprintf("1 c=%d", times)
	r.change(func(b *intent.Builder) { b.PutCNF(next) })
	before := r.backend
	r.restart(t, "a")
	r.backend.Succeed(before)
}

// linesOf counts the lines of the kernel that contain a text.
func linesOf(r *rig, text string) int { return strings.Count(r.device.Kernel(), text) }

// TestContainerRestarts has the container restart, with resources that stay, change and go meanwhile: in the kernel there is
// everything once, and nothing of what is gone.
func TestContainerRestarts(t *testing.T) {
	r := newRig(t)
	r.set("pods", "10.0.0.1", "10.0.0.2")
	r.set("fewer", "10.0.0.2")
	nat := func(to string) *intent.DeviceIntent {
		return of("CNFNAT", "n", &intent.LinkNAT{Place: 1, Translation: intent.Translation{
			Kind: intent.DestinationNAT, Addr: addr(to), Match: intent.Match{Protocol: "tcp"},
		}})
	}
	rule := func(mark string) *intent.DeviceIntent {
		return of("CNFRouteRule", "r", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40", Mark: mark})
	}
	route := func(via string) *intent.DeviceIntent {
		return of("CNFRoute", "r", &intent.Route{Dst: prefix("10.6.0.0/16"), Via: addr(via), Dev: intent.Link{Name: "net0"}})
	}
	second := of("CNFNAT", "gone", &intent.LinkNAT{Translation: intent.Translation{
		Kind: intent.DestinationNAT, Addr: addr("10.9.9.9"), Match: intent.Match{Protocol: "udp"},
	}})
	goneRoute := of("CNFRoute", "gone", &intent.Route{Dst: prefix("10.7.0.0/16"), Via: addr("172.16.70.1"), Dev: intent.Link{Name: "net0"}})
	app := of("SdewanApplication", "a", &intent.Application{Sources: "pods"})
	r.put(nat("10.0.0.7"), second, rule("0x10"), route("172.16.70.1"), goneRoute, app)
	require.Empty(t, r.reconcile(t).Skips)
	once := r.device.Kernel()
	r.containerRestart(t, 1)
	require.Empty(t, r.reconcile(t).Skips)
	require.ElementsMatch(t, strings.Split(once, "\n"), strings.Split(r.device.Kernel(), "\n"), "nothing is there twice")
	r.requireSettled(t)

	r.containerRestart(t, 2)
	r.drop(second, goneRoute)
	r.put(nat("10.0.0.8"), rule("0x20"), route("172.16.70.2"), of("SdewanApplication", "a", &intent.Application{Sources: "fewer"}))
	require.Empty(t, r.reconcile(t).Skips)
	kernel := r.device.Kernel()
	for _, gone := range []string{"10.0.0.7", "10.9.9.9", "fwmark 0x10", "via 172.16.70.1", "10.7.0.0/16", "from 10.0.0.1 "} {
		require.NotContains(t, kernel, gone)
	}
	for _, there := range []string{"10.0.0.8", "fwmark 0x20", "10.6.0.0/16 via 172.16.70.2", "from 10.0.0.2 "} {
		require.Equal(t, 1, linesOf(r, there), "%s in\n%s", there, kernel)
	}
	r.requireSettled(t)
	r.drop(nat("10.0.0.8"), rule("0x20"), route("172.16.70.2"), app)
	r.reconcile(t)
	require.Empty(t, r.device.Kernel())
}

// TestContainerRestartsUnnoticed has a device lose its configuration without another run of the pod.
func TestContainerRestartsUnnoticed(t *testing.T) {
	r := newRig(t)
	r.fill(t)
	r.reconcile(t)
	once := strings.Split(r.device.Kernel(), "\n")
	r.device.Restart()
	r.reconcileFully(t)
	now := strings.Split(r.device.Kernel(), "\n")
	var twice []string
	for _, line := range now {
		if !strings.Contains(line, "filter") { // rules between interfaces cannot be repaired
			twice = append(twice, line)
		}
	}
	for i, line := range twice {
		require.NotContains(t, twice[i+1:], line)
	}
	require.Subset(t, now, once)
}

// TestRulesThatTheKernelHasTwice removes the copies of a process that did not know better, and leaves those of others.
func TestRulesThatTheKernelHasTwice(t *testing.T) {
	r := newRig(t)
	rule := of("CNFRouteRule", "r", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40"})
	other := of("CNFRouteRule", "o", &intent.RouteRule{Src: prefix("10.8.0.0/16"), Table: "41"})
	r.put(rule, other)
	r.reconcile(t)
	r.device.Restart() // and a process that knows nothing
	r.restart(t, "a")
	r.drop(other)
	require.Empty(t, r.reconcile(t).Skips)
	require.Equal(t, 1, linesOf(r, "from 10.5.0.0/16"), r.device.Kernel())
	require.Equal(t, 1, linesOf(r, "from 10.8.0.0/16"), "nobody knows whose it is")
	r.requireSettled(t)
}

// TestRulesBetweenInterfacesAfterARestart are there twice, which the API cannot repair: this is reported.
func TestRulesBetweenInterfacesAfterARestart(t *testing.T) {
	r := newRig(t)
	rule := of("NetworkFirewallRule", "r", &intent.LinkRule{
		From: intent.Link{Name: "net0"}, Decides: intent.Drop, Match: intent.Match{Protocol: "tcp", DstPort: 22},
	})
	r.put(rule)
	r.reconcile(t)
	r.containerRestart(t, 1)
	p := r.reconcile(t)
	require.Len(t, p.Skips, 1)
	require.Contains(t, skipOf(p, rule), "stays until the pod is deleted")
	require.True(t, p.Skips[0].InEffect)
	r.drop(rule)
	r.reconcile(t)
	p = r.readBack(t)
	require.Len(t, p.Skips, 1)
	require.False(t, p.Skips[0].InEffect)
	require.Equal(t, 1, linesOf(r, "--dport 22"))

	r.device.Recreate()
	other := cnf()
	other.Run = "2"
	r.change(func(b *intent.Builder) { b.PutCNF(other) })
	before := r.backend
	r.restart(t, "a")
	r.backend.Succeed(before)
	require.Empty(t, r.reconcile(t).Skips, "another pod has another kernel")
}

// TestRouteWithAnUnreachableNextHop is reported, and written again at each read-back, until the kernel has it.
func TestRouteWithAnUnreachableNextHop(t *testing.T) {
	r := newRig(t)
	route := of("CNFRoute", "r", &intent.Route{Dst: prefix("10.6.0.0/16"), Via: addr("192.0.2.1"), Dev: intent.Link{Name: "net0"}})
	r.put(route)
	p := r.reconcile(t)
	require.Contains(t, skipOf(p, route), "the kernel does not")
	for range 2 {
		p = r.reconcileFully(t)
		require.Contains(t, skipOf(p, route), "the kernel does not")
		require.Zero(t, p.Drift(), "nobody changed the device")
	}
	r.put(of("CNFRouteRule", "x", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Priority: 5}))
	require.Contains(t, skipOf(r.reconcile(t), route), "the kernel does not", "a plan of changes says the same")
	r.put(of("CNFRoute", "r", &intent.Route{Dst: prefix("10.6.0.0/16"), Via: addr("172.16.70.1"), Dev: intent.Link{Name: "net0"}}))
	require.Empty(t, r.reconcile(t).Skips)
	require.Equal(t, 1, linesOf(r, "10.6.0.0/16 via 172.16.70.1"))
	r.requireSettled(t)
}

// TestRouteThatOthersHave is reported, and theirs stays.
func TestRouteThatOthersHave(t *testing.T) {
	r := newRig(t)
	route := of("CNFRoute", "r", &intent.Route{Dst: prefix("0.0.0.0/0"), Via: addr("172.16.70.1"), Dev: intent.Link{Name: "net0"}})
	r.put(route)
	p := r.reconcile(t)
	require.Contains(t, skipOf(p, route), "the kernel has another route: default")
	r.drop(route)
	require.Empty(t, r.reconcile(t).Skips)
	require.Empty(t, r.readBack(t).Ops)
}

// TestKernelFlushedByHand is repaired at the next read-back, as far as the device reports the kernel.
func TestKernelFlushedByHand(t *testing.T) {
	r := newRig(t)
	r.set("pods", "10.0.0.1", "10.0.0.2")
	r.put(
		of("CNFRouteRule", "r", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "40", Priority: 7, Mark: "16"}),
		of("CNFRoute", "r", &intent.Route{Dst: prefix("10.6.0.0/16"), Via: addr("172.16.70.1"), Dev: intent.Link{Name: "net0"}, Table: intent.TableCNF}),
		of("SdewanApplication", "a", &intent.Application{Sources: "pods"}),
	)
	require.Empty(t, r.reconcile(t).Skips)
	once := r.device.Kernel()
	r.requireSettled(t)
	r.device.FlushKernel()
	p := r.reconcileFully(t)
	require.Positive(t, p.Drift())
	require.Empty(t, p.Skips)
	r.reconcileFully(t) // the device reports a table only while a rule refers to it
	require.ElementsMatch(t, strings.Split(once, "\n"), strings.Split(r.device.Kernel(), "\n"))
	r.requireSettled(t)
}

// TestPlaceBeyondTheChain is refused, because the device would insert nothing and report success.
func TestPlaceBeyondTheChain(t *testing.T) {
	r := newRig(t)
	nat := func(name string, place int) *intent.DeviceIntent {
		return of("CNFNAT", name, &intent.LinkNAT{Place: place, Translation: intent.Translation{
			Kind: intent.DestinationNAT, Addr: addr("10.0.0.1"), Port: uint16(1000 + place), Match: intent.Match{Protocol: "tcp"},
		}})
	}
	far := nat("far", 9)
	r.put(nat("a", 1), nat("b", 2), nat("c", 3), far)
	p := r.reconcile(t)
	require.Len(t, p.Skips, 1)
	require.Contains(t, skipOf(p, far), "position 9: the device inserts nothing beyond the end of PREROUTING")
	require.Equal(t, 3, linesOf(r, "--to-destination 10.0.0.1"))
	r.put(nat("far", 4))
	require.Empty(t, r.reconcile(t).Skips)
	require.Equal(t, 4, linesOf(r, "--to-destination 10.0.0.1"))
	r.requireSettled(t)
}

// TestNumbersThatTheKernelDoesNotHave are refused.
func TestNumbersThatTheKernelDoesNotHave(t *testing.T) {
	r := newRig(t)
	table := of("CNFRouteRule", "t", &intent.RouteRule{Src: prefix("10.5.0.0/16"), Table: "4294967296"})
	prio := of("CNFRouteRule", "p", &intent.RouteRule{Src: prefix("10.6.0.0/16"), Priority: 1 << 32})
	r.put(table, prio)
	p := r.reconcile(t)
	require.Contains(t, skipOf(p, table), "table 4294967296: expected at most 4294967295")
	require.Contains(t, skipOf(p, prio), "priority 4294967296")
	require.Empty(t, p.Ops)
}

// TestKernelThatIsNotReported has a device without the status of routes and rules: this is reported, and nothing else suffers.
func TestKernelThatIsNotReported(t *testing.T) {
	r := newRig(t)
	front := r.inFront(t)
	front.refuse = func(q *http.Request) bool { return strings.Contains(q.URL.Path, "/status/") }
	e := r.fill(t)
	p := r.reconcile(t)
	require.Len(t, p.Skips, 1)
	require.Equal(t, "kernel", p.Skips[0].Intent)
	require.Equal(t, len(e.list()), len(p.Ops)-verbs(p)[backends.Reload])
	p = r.readBack(t)
	require.Empty(t, p.Ops)
	require.Len(t, p.Skips, 1)
}

// TestTranslationsAfterARestartOfBoth has the container and the process restart: a translation that is still wanted is there once.
func TestTranslationsAfterARestartOfBoth(t *testing.T) {
	r := newRig(t)
	nat := of("CNFNAT", "n", &intent.LinkNAT{Translation: intent.Translation{
		Kind: intent.DestinationNAT, Addr: addr("10.0.0.7"), Match: intent.Match{Protocol: "tcp"},
	}})
	r.put(nat)
	r.reconcile(t)
	r.device.Restart()
	r.restart(t, "a")
	r.reconcile(t)
	require.Equal(t, 1, linesOf(r, "10.0.0.7"), r.device.Kernel())
	r.requireSettled(t)
	r.drop(nat)
	r.reconcile(t)
	require.Empty(t, r.device.Kernel())
}
