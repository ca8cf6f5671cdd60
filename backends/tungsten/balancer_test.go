package tungsten_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

var serviceVIP = netip.MustParseAddr("10.96.0.10") //nolint:gochecknoglobals // a constant

// cluster80 is a frontend of a cluster address at port 80, with backends at a port of some pods of a cluster.
func cluster80(target uint16, pods ...int) intent.Frontend {
	f := intent.Frontend{Addr: serviceVIP, Protocol: intent.TCP, Port: 80, Kind: intent.ClusterAddress, Path: "spec.ports[0]"}
	for _, i := range pods {
		f.Backends = f.Backends.With(&intent.Backend{
			Addr: netip.AddrFrom4([4]byte{10, 0, 1, byte(i + 1)}), Port: target, Key: podKey(i), Node: fmt.Sprintf("n%d", i%2),
		})
	}
	return f
}

func balancer(name string, fronts ...intent.Frontend) intent.LoadBalancer {
	o := intent.Origin{Kind: "Service", Namespace: "red", Name: name}
	return intent.LoadBalancer{ID: intent.LoadBalancerID(o.String()), Origin: o, RejectEmpty: true, Frontends: fronts}
}

// with returns a state with load balancers. Pods with even numbers are on one node, the others on another.
func with(c cluster, balancers ...intent.LoadBalancer) *backendtest.State {
	s := c.state()
	for i := range s.Endpoints {
		s.Endpoints[i].Node = fmt.Sprintf("n%d", i%2)
	}
	s.Nodes = []intent.Node{{Name: "n0"}, {Name: "n1"}}
	s.LoadBalancers = balancers
	return s
}

// TestServed judges connections to a Service under policies for its endpoints and for its clients.
func TestServed(t *testing.T) {
	web := map[intent.SetID][]int{"web": {0, 1}, "api": {2}, "one": {0}, intent.IsolatedIngress: {0, 1}}
	out := map[intent.SetID][]int{"web": {0, 1}, "api": {2}, "one": {0}, intent.IsolatedEgress: {2}}
	for _, tc := range []struct {
		name     string
		sets     map[intent.SetID][]int
		policies []intent.Policy
		skipped  string
		want     map[int]string // by client: what becomes of a connection to each endpoint
	}{
		{name: "no policy", want: map[int]string{2: "++", 3: "++"}},
		{
			name: "an ingress rule means the target port", sets: web, want: map[int]string{2: "++", 3: "--"},
			policies: []intent.Policy{policy("p", intent.Ingress, "web", rule(intent.Allow, "api", tcp(8080, 8080)))},
		},
		{
			name: "an ingress rule for the port of the Service admits nobody", sets: web, want: map[int]string{2: "--", 3: "--"},
			policies: []intent.Policy{policy("p", intent.Ingress, "web", rule(intent.Allow, "api", tcp(80, 80)))},
		},
		{
			name: "an egress rule means the target port", sets: out, want: map[int]string{2: "++", 3: "++"},
			policies: []intent.Policy{policy("p", intent.Egress, "api", rule(intent.Allow, "web", tcp(8080, 8080)))},
		},
		{
			name: "an egress rule for the port of the Service allows nothing", sets: out, want: map[int]string{2: "--", 3: "++"},
			policies: []intent.Policy{policy("p", intent.Egress, "api", rule(intent.Allow, "web", tcp(80, 80)))},
		},
		{
			name: "an egress rule without ports", sets: out, want: map[int]string{2: "++", 3: "++"},
			policies: []intent.Policy{policy("p", intent.Egress, "api", rule(intent.Allow, "web", intent.Ports{Any: true}))},
		},
		{
			name: "an admin rule that denies a port", sets: out, want: map[int]string{2: "--", 3: "++"},
			policies: []intent.Policy{admin("p", intent.Egress, "api", rule(intent.Deny, "web", tcp(8080, 8080)))},
		},
		{
			name: "an egress rule for one of two endpoints allows neither and is reported", sets: out, want: map[int]string{2: "--", 3: "++"},
			skipped:  "policies do not treat its endpoints alike",
			policies: []intent.Policy{policy("p", intent.Egress, "api", rule(intent.Allow, "one", tcp(8080, 8080)))},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := with(cluster{sets: tc.sets, policies: tc.policies}, balancer("shop", cluster80(8080, 0, 1)))
			target := tungstentest.NewTarget(t)
			snap := s.Snapshot()
			p := newRig(t, target, "a").sync(t, s, snap)
			reported := ""
			for _, skip := range p.Skips {
				reported += skip.Reason
			}
			require.Contains(t, reported, tc.skipped)
			require.Equal(t, tc.skipped == "", reported == "", reported)
			for client, want := range tc.want {
				for _, node := range []string{"n0", "n1", "elsewhere"} {
					f := intent.Flow{
						Src: intent.Party{Key: podKey(client), Addr: netip.AddrFrom4([4]byte{10, 0, 1, byte(client + 1)})},
						Dst: intent.Party{Addr: serviceVIP}, Protocol: intent.TCP, Port: 80, Node: node,
					}
					got := ""
					v := target.Verdict(t, f)
					for _, i := range []int{0, 1} {
						allowed, sent := v.Backends[netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i + 1)}), 8080)]
						require.True(t, sent)
						got += map[bool]string{true: "+", false: "-"}[allowed]
					}
					if tc.skipped != "" && node == "n0" {
						continue // an endpoint on the same host may be allowed by itself
					}
					require.Equal(t, want, got, "%d from %s", client, node)
				}
			}
		})
	}
}

// TestServesWorlds counts how many load balancers of random worlds are served: those that are not are judged leniently.
func TestServesWorlds(t *testing.T) {
	served, strict := 0, 0
	for seed := range uint64(10) { // the worlds are always the same
		s := backendtest.Stepped(backendtest.History(seed, 3)[2])
		target := tungstentest.NewTarget(t)
		p := newRig(t, target, "a").sync(t, s, s.Snapshot())
		skipped := map[string]bool{}
		for _, skip := range p.Skips {
			skipped[skip.Intent] = true
		}
		served += strings.Count(target.Dump(t), "\n"+string(tungsten.KindListener)+" ")
		for i := range s.LoadBalancers {
			if !skipped[string(s.LoadBalancers[i].ID)] {
				strict++
			}
		}
	}
	t.Logf("%d listeners, %d load balancers without a reservation", served, strict)
	require.Greater(t, served, 10)
	require.Greater(t, strict, 2)
}

// TestServiceWindows judges after every write: a pod becomes an endpoint of a Service, or ceases to be one, while the rules for the
// Service change.
func TestServiceWindows(t *testing.T) {
	admits := func(subject intent.SetID, peer intent.SetID) []intent.Policy {
		return []intent.Policy{policy("p", intent.Ingress, subject, rule(intent.Allow, peer, tcp(8080, 8080)))}
	}
	sets := func(isolated ...int) map[intent.SetID][]int {
		return map[intent.SetID][]int{"web": isolated, "api": {2}, "cli": {3}, intent.IsolatedIngress: isolated}
	}
	for _, tc := range []struct {
		name          string
		before, after *backendtest.State
	}{
		{
			"an isolated pod joins an open Service",
			with(cluster{sets: sets(1), policies: admits("web", "api")}, balancer("shop", cluster80(8080, 0))),
			with(cluster{sets: sets(1), policies: admits("web", "api")}, balancer("shop", cluster80(8080, 0, 1))),
		},
		{
			"an open pod takes the place of an isolated one",
			with(cluster{sets: sets(0), policies: admits("web", "api")}, balancer("shop", cluster80(8080, 0))),
			with(cluster{sets: sets(0), policies: admits("web", "api")}, balancer("shop", cluster80(8080, 1))),
		},
		{
			"an isolated pod takes the place of an open one",
			with(cluster{sets: sets(1), policies: admits("web", "api")}, balancer("shop", cluster80(8080, 0))),
			with(cluster{sets: sets(1), policies: admits("web", "api")}, balancer("shop", cluster80(8080, 1))),
		},
		{
			"the endpoint and who may reach it change",
			with(cluster{sets: sets(0, 1), policies: admits("web", "api")}, balancer("shop", cluster80(8080, 0))),
			with(cluster{sets: sets(0, 1), policies: admits("web", "cli")}, balancer("shop", cluster80(8080, 1))),
		},
		{
			"the target port changes",
			with(cluster{sets: sets(0), policies: admits("web", "api")}, balancer("shop", cluster80(8080, 0))),
			with(cluster{sets: sets(0), policies: admits("web", "api")}, balancer("shop", cluster80(9090, 0))),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, states := range [][2]*backendtest.State{{tc.before, tc.after}, {tc.after, tc.before}} {
				require.Empty(t, openedOnTheWay(t, states[0], states[1]))
			}
		})
	}
}

// openedOnTheWay goes from one state to the next and lists what a state between two writes allowed although both ends deny it, in
// terms of endpoints.
func openedOnTheWay(t *testing.T, before, after *backendtest.State) []string {
	t.Helper()
	target := tungstentest.NewTarget(t)
	r, was := newRig(t, target, "a"), before.Snapshot()
	r.sync(t, before, was)
	will := backendtest.Advance(was, after)
	plan, err := r.backend.Plan(t.Context(), will, was.Revision())
	require.NoError(t, err)
	require.False(t, plan.Resync)
	require.NotEmpty(t, plan.Ops)
	var opened []string
	for i := range plan.Ops {
		part := *plan
		part.Ops = plan.Ops[i : i+1]
		require.NoError(t, r.backend.Apply(t.Context(), &part))
		for _, f := range backendtest.Probes(before, after) {
			for at, allowed := range target.Verdict(t, f).Backends {
				if allowed && !reaches(was, f, at) && !reaches(will, f, at) {
					opened = append(opened, fmt.Sprintf("%s by %s after %s", backendtest.FlowText(f), at, plan.Ops[i].Name))
				}
			}
		}
	}
	return opened
}

// reaches reports whether a flow may be sent to a backend and is allowed to get there.
func reaches(s *intent.Snapshot, f intent.Flow, at netip.AddrPort) bool {
	if b := s.Evaluate(f).Balanced; b != nil {
		for _, c := range b.Choices {
			if c.Backend.AddrPort() == at && c.Allowed {
				return true
			}
		}
	}
	return false
}

// TestLabelOfAnEndpoint lets the only endpoint of a Service join the set that a policy isolates, and leave it again: nothing about the
// Service changes.
func TestLabelOfAnEndpoint(t *testing.T) {
	state := func(isolated ...int) *backendtest.State {
		return with(cluster{
			sets:     map[intent.SetID][]int{"web": isolated, "api": {2}},
			policies: []intent.Policy{policy("p", intent.Ingress, "web", rule(intent.Allow, "api", tcp(8080, 8080)))},
		}, balancer("shop", cluster80(8080, 0)))
	}
	target, snap := tungstentest.NewTarget(t), state(1).Snapshot()
	r := newRig(t, target, "a")
	r.sync(t, state(1), snap)
	for _, isolated := range [][]int{{0, 1}, {1}} {
		s := state(isolated...)
		snap = backendtest.Advance(snap, s)
		p := r.sync(t, s, snap)
		require.False(t, p.Full)
		v := target.Verdict(t, intent.Flow{
			Src: intent.Party{Key: podKey(3), Addr: netip.MustParseAddr("10.0.1.4")}, Dst: intent.Party{Addr: serviceVIP}, Protocol: intent.TCP, Port: 80,
		})
		require.Equal(t, map[netip.AddrPort]bool{netip.MustParseAddrPort("10.0.1.1:8080"): len(isolated) == 1}, v.Backends)
	}
}
