package tungsten_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	backend "github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

func listeners(t *testing.T, target *tungstentest.Target) int {
	t.Helper()
	return strings.Count("\n"+target.Dump(t), "\n"+string(tungsten.KindListener)+" ")
}

// TestRefusedFeatures checks that a Service with a feature that the vrouter lacks is not served, and that the reason names it.
func TestRefusedFeatures(t *testing.T) {
	of := func(change func(lb *intent.LoadBalancer, f *intent.Frontend)) intent.LoadBalancer {
		lb := balancer("shop", cluster80(8080, 0, 1))
		change(&lb, &lb.Frontends[0])
		return lb
	}
	for _, tc := range []struct {
		name   string
		lb     intent.LoadBalancer
		reason string
	}{
		{"affinity", of(func(lb *intent.LoadBalancer, _ *intent.Frontend) { lb.Affinity = 60 }), "no session affinity"},
		{"another network", of(func(lb *intent.LoadBalancer, _ *intent.Frontend) { lb.Network = "blue" }), "default network"},
		{"SCTP", of(func(_ *intent.LoadBalancer, f *intent.Frontend) { f.Protocol = intent.SCTP }), "TCP or UDP"},
		{"a node port", of(func(_ *intent.LoadBalancer, f *intent.Frontend) { f.Kind = intent.NodePort }), "node ports"},
		{"an external address", of(func(_ *intent.LoadBalancer, f *intent.Frontend) { f.Kind = intent.ExternalAddress }), "floating IPs of a public network"},
		{"the policy Local", of(func(_ *intent.LoadBalancer, f *intent.Frontend) { f.Locality = intent.NodeOfFlow }), "by node"},
		{"no endpoints", of(func(_ *intent.LoadBalancer, f *intent.Frontend) { f.Backends = intent.Backends{} }), "dropped instead of rejected"},
		{"source ranges", of(func(_ *intent.LoadBalancer, f *intent.Frontend) {
			f.Denied = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}), "does not filter sources"},
		{"hints", of(func(_ *intent.LoadBalancer, f *intent.Frontend) {
			backendtest.ChangeBackends(f, func(list []intent.Backend) []intent.Backend {
				list[0].ForZones, list[1].ForZones = []string{"a"}, []string{"b"}
				return list
			})
		}), "hints"},
		{"target ports that differ", of(func(_ *intent.LoadBalancer, f *intent.Frontend) {
			backendtest.ChangeBackends(f, func(list []intent.Backend) []intent.Backend {
				list[1].Port = 9090
				return list
			})
		}), "different ports"},
		{"IPv6", of(func(_ *intent.LoadBalancer, f *intent.Frontend) {
			f.Addr = netip.MustParseAddr("fd96::a")
			f.Backends = intent.NewBackends(intent.Backend{Addr: netip.MustParseAddr("fd00::1"), Port: 80})
		}), "IPv6"},
		{"ports with different endpoints", balancer("shop", cluster80(8080, 0, 1), func() intent.Frontend {
			f := cluster80(9090, 0)
			f.Port = 90
			return f
		}()), "its ports have different endpoints"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := with(cluster{}, tc.lb)
			target := tungstentest.NewTarget(t)
			p := newRig(t, target, "a").sync(t, s, s.Snapshot())
			require.Len(t, p.Skips, 1)
			require.Equal(t, string(tc.lb.ID), p.Skips[0].Intent)
			require.Contains(t, p.Skips[0].Reason, tc.reason)
			require.Zero(t, listeners(t, target))
			explained := backend.NewExplainer("a").Skips(s.Snapshot())
			if strings.Contains(tc.name, " endpoints") {
				require.Empty(t, explained, "it depends on the endpoints that there are")
			} else {
				require.Equal(t, p.Skips, explained, "it is known without a controller")
			}
		})
	}
}

// foreignVIP makes an instance IP of somebody else at the address of a Service.
func foreignVIP(t *testing.T, target *tungstentest.Target) *tungsten.Object {
	t.Helper()
	o := &tungsten.Object{
		Kind: tungsten.KindInstanceIP, FQName: []string{"shop__by-hand"}, InstanceIPAddress: serviceVIP.String(),
		VirtualNetworkRefs: []tungsten.Ref{tungsten.RefTo("default-domain", "k8s-default", "k8s-default-service-network")},
	}
	var err error
	o.UUID, err = target.Client.Create(t.Context(), o)
	require.NoError(t, err)
	return o
}

// TestVIPOfAnother leaves a VIP to the load balancer that has it, and takes it when that is gone.
func TestVIPOfAnother(t *testing.T) {
	s := with(cluster{}, balancer("shop", cluster80(8080, 0, 1)))
	target, snap := tungstentest.NewTarget(t), s.Snapshot()
	foreign := foreignVIP(t, target)
	r := newRig(t, target, "a")
	p := r.sync(t, s, snap)
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "another load balancer has its address, by the instance IP shop__by-hand")
	require.Zero(t, listeners(t, target))

	require.NoError(t, target.Client.Delete(t.Context(), foreign.Kind, foreign.UUID))
	p = r.sync(t, s, snap)
	require.Empty(t, p.Skips)
	require.Equal(t, 1, listeners(t, target))
}

// TestRefusedVIP lets the controller refuse the address of one Service: others are served, and it is reported.
func TestRefusedVIP(t *testing.T) {
	other := cluster80(8080, 2)
	other.Addr = netip.MustParseAddr("10.96.0.11")
	s := with(cluster{}, balancer("other", other), balancer("shop", cluster80(8080, 0, 1)))
	target, snap := tungstentest.NewTarget(t), s.Snapshot()
	target.Prepare(t, s.Endpoints, nil)
	r := newRig(t, target, "a")
	p, err := r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	foreignVIP(t, target)
	require.ErrorContains(t, r.backend.Apply(t.Context(), p), "IP address already in use")
	p = r.sync(t, s, snap)
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "the controller refused it: IP address already in use")
	require.Equal(t, 1, listeners(t, target))
	require.NotContains(t, target.Dump(t), "vip.10.96.0.10", "what was created for it is removed")
}

// TestEndpointWithoutInterface serves the other endpoints, and reports the one.
func TestEndpointWithoutInterface(t *testing.T) {
	lb := balancer("shop", cluster80(8080, 0, 1))
	backendtest.ChangeBackends(&lb.Frontends[0], func(list []intent.Backend) []intent.Backend {
		list[1].Addr = netip.MustParseAddr("203.0.113.9")
		return list
	})
	s := with(cluster{}, lb)
	target := tungstentest.NewTarget(t)
	p := newRig(t, target, "a").sync(t, s, s.Snapshot())
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "the endpoint 203.0.113.9 gets no connections")
	v := target.Verdict(t, intent.Flow{
		Src: intent.Party{Key: podKey(2), Addr: netip.MustParseAddr("10.0.1.3")}, Dst: intent.Party{Addr: serviceVIP}, Protocol: intent.TCP, Port: 80,
	})
	require.Equal(t, map[netip.AddrPort]bool{netip.MustParseAddrPort("10.0.1.1:8080"): true}, v.Backends)
}

// TestPodWithTheNameOfAVIP checks that a pod whose name begins like those of netloom's objects keeps its interface.
func TestPodWithTheNameOfAVIP(t *testing.T) {
	s := with(cluster{}, balancer("shop", cluster80(8080, 0)))
	e := intent.Endpoint{Key: object.Key{Namespace: "red", Name: "netloom.a.vip.10.96.0.9"}, Addrs: []netip.Addr{netip.MustParseAddr("10.0.1.9")}}
	s.Endpoints = append(s.Endpoints, e)
	target, snap := tungstentest.NewTarget(t), s.Snapshot()
	r := newRig(t, target, "a")
	p := r.sync(t, s, snap)
	for i := range p.Ops {
		require.NotEqual(t, backends.Delete, p.Ops[i].Verb)
	}
	p = r.sync(t, s, snap)
	require.True(t, p.Empty())
}

// TestTCPAndUDPOfOnePort checks that what svc-monitor removes together is replaced together: the names of listeners depend on all
// ports of a VIP.
func TestTCPAndUDPOfOnePort(t *testing.T) {
	udp := cluster80(8080, 0, 1)
	udp.Protocol = intent.UDP
	both, one := with(cluster{}, balancer("dns", cluster80(8080, 0, 1), udp)), with(cluster{}, balancer("dns", cluster80(8080, 0, 1)))
	target, snap := tungstentest.NewTarget(t), both.Snapshot()
	r := newRig(t, target, "a")
	r.sync(t, both, snap)
	require.Equal(t, 2, listeners(t, target))
	next := backendtest.Advance(snap, one)
	p := r.sync(t, one, next)
	deleted := 0
	for i := range p.Ops {
		if p.Ops[i].Verb == backends.Delete && p.Ops[i].Kind == string(tungsten.KindListener) {
			deleted++
		}
	}
	require.Equal(t, 2, deleted)
	require.Equal(t, 1, listeners(t, target))

	calls := target.Calls()
	require.NotZero(t, sum(calls))
	r = newRig(t, target, "a")
	require.True(t, r.sync(t, one, next).Empty(), "a restart writes nothing")
	for what := range target.Calls() {
		require.True(t, strings.HasPrefix(what, "list "), what)
	}
}

// TestUnavailableServicesStay keeps the load balancers of Services that cannot be read.
func TestUnavailableServicesStay(t *testing.T) {
	s := with(cluster{}, balancer("shop", cluster80(8080, 0, 1)))
	target, snap := tungstentest.NewTarget(t), s.Snapshot()
	newRig(t, target, "a").sync(t, s, snap)
	r := newRig(t, target, "a")
	r.backend.Keep([]object.Ref{{Kind: "Service", Namespace: "red", Name: "shop"}})
	without := with(cluster{})
	p := r.sync(t, without, without.Snapshot())
	require.True(t, p.Empty())
	require.Equal(t, []object.Ref{{Kind: "Service", Namespace: "red", Name: "shop"}}, p.Kept)
	require.Equal(t, 1, listeners(t, target))
	r.backend.Keep(nil)
	r.reached = 0
	r.sync(t, without, without.Snapshot())
	require.Zero(t, listeners(t, target))
}

// TestRowsOfAService checks that the objects of a load balancer lead back to the Service.
func TestRowsOfAService(t *testing.T) {
	s := with(cluster{}, balancer("shop", cluster80(8080, 0)))
	target := tungstentest.NewTarget(t)
	r := newRig(t, target, "a")
	r.sync(t, s, s.Snapshot())
	rows, err := r.backend.ReadRows(t.Context(), object.Ref{Kind: "Service", Namespace: "red", Name: "shop"})
	require.NoError(t, err)
	var text []string
	for _, row := range rows {
		text = append(text, row.Table+" "+row.Text)
	}
	require.Equal(t, []string{
		"loadbalancer 10.96.0.10", "loadbalancer-listener TCP 80",
		"loadbalancer-member port 8080 of interface " + tungstentest.PortUUID(podKey(0)), "loadbalancer-pool ROUND_ROBIN",
	}, text)
	trails, err := r.backend.Trails(t.Context(), "netloom.a.vip.10.96.0.10")
	require.NoError(t, err)
	require.Len(t, trails, 1)
	require.Contains(t, trails[0].Origins[0], "Service/red/shop")
}

// TestServiceNetworkIsMissing reports each Service when the virtual network of Services does not exist, and writes nothing for it.
func TestServiceNetworkIsMissing(t *testing.T) {
	s := with(cluster{}, balancer("shop", cluster80(8080, 0, 1)))
	target, snap := tungstentest.NewTarget(t), s.Snapshot()
	target.Prepare(t, s.Endpoints, nil)
	b, err := backend.New(target.Client, backend.Options{Owner: "a", ServiceNetwork: []string{"default-domain", "k8s-default", "nope"}})
	require.NoError(t, err)
	p, err := b.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.NoError(t, b.Apply(t.Context(), p))
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "the virtual network default-domain:k8s-default:nope does not exist")
	require.Zero(t, listeners(t, target))
}
