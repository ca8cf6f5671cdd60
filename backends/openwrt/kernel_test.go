package openwrt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
