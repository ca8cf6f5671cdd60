package tungsten_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// cluster is a state under construction: endpoints p-0, p-1, … and named sets of them.
type cluster struct {
	sets     map[intent.SetID][]int
	policies []intent.Policy
}

const pods = 4

func podKey(i int) object.Key { return object.Key{Namespace: "red", Name: fmt.Sprintf("p-%d", i)} }

func (c cluster) state() *backendtest.State {
	s := &backendtest.State{Policies: c.policies}
	for i := range pods {
		s.Endpoints = append(s.Endpoints, intent.Endpoint{Key: podKey(i), Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 1, byte(i + 1)})}})
	}
	for id, members := range c.sets {
		spec := backendtest.SetSpec{ID: id}
		for _, i := range members {
			spec.Keys = append(spec.Keys, podKey(i))
		}
		s.Sets = append(s.Sets, spec)
	}
	slices.SortFunc(s.Sets, func(a, b backendtest.SetSpec) int { return compareText(string(a.ID), string(b.ID)) })
	return s
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func tcp(first, last uint16) intent.Ports {
	return intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: first, Last: last}}}
}

// rule is one of a policy from or to the members of a set.
func rule(a intent.Action, peer intent.SetID, ports intent.Ports) intent.Rule {
	return intent.Rule{Path: "spec", Action: a, Ports: ports, Peer: intent.Peer{Kind: intent.PeerSet, Set: peer}}
}

func policy(name string, d intent.Direction, subject intent.SetID, rules ...intent.Rule) intent.Policy {
	o := intent.Origin{Kind: "NetworkPolicy", Namespace: "red", Name: name}
	return intent.Policy{ID: intent.NewPolicyID(o, d), Origin: o, Direction: d, Subject: subject, Isolates: true, Rules: rules}
}

func admin(name string, d intent.Direction, subject intent.SetID, rules ...intent.Rule) intent.Policy {
	o := intent.Origin{Kind: "ClusterNetworkPolicy", Name: name}
	return intent.Policy{ID: intent.NewPolicyID(o, d), Origin: o, Direction: d, Subject: subject, Tier: intent.TierAdmin, Rules: rules}
}

// passage is a way from one state to another.
type passage struct {
	target  *tungstentest.Target
	backend *tungsten.Backend
	opened  []string // what a state between two writes allowed although both ends deny
	dropped []string
	verbs   map[string]int // of the ops
	closes  bool
}

// cross goes from one state to the next, and judges after every write.
func cross(t *testing.T, before, after *backendtest.State) *passage {
	t.Helper()
	target, ok := tungstentest.New(t).(*tungstentest.Target)
	require.True(t, ok)
	target.Prepare(t, slices.Concat(before.Endpoints, after.Endpoints), nil)
	b, ok := target.Open(t, "a").(*tungsten.Backend)
	require.True(t, ok)
	p := &passage{target: target, backend: b, verbs: map[string]int{}}
	was := before.Snapshot()
	plan, err := b.Plan(t.Context(), was, 0)
	require.NoError(t, err)
	require.NoError(t, b.Apply(t.Context(), plan))
	will := backendtest.Advance(was, after)
	p.step(t, was, will, slices.DeleteFunc(backendtest.Probes(before, after), func(f intent.Flow) bool {
		return moved(f.Src, before, after) || moved(f.Dst, before, after)
	}))
	for _, f := range backendtest.Probes(after) {
		require.Equal(t, will.Evaluate(f).Allowed, target.Verdict(t, f).Allowed, backendtest.FlowText(f))
	}
	return p
}

func (p *passage) step(t *testing.T, was, will *intent.Snapshot, flows []intent.Flow) {
	t.Helper()
	plan, err := p.backend.Plan(t.Context(), will, was.Revision())
	require.NoError(t, err)
	require.False(t, plan.Resync)
	p.closes = p.backend.ClosesFirst(plan)
	for i := range plan.Ops {
		op := &plan.Ops[i]
		p.verbs[op.Verb.String()+" "+op.Kind]++
		part := *plan
		part.Ops = []backends.Op{*op}
		require.NoError(t, p.backend.Apply(t.Context(), &part))
		for _, f := range flows {
			a, b, got := was.Evaluate(f).Allowed, will.Evaluate(f).Allowed, p.target.Verdict(t, f).Allowed
			what := fmt.Sprintf("%s after %s %s %v %v", backendtest.FlowText(f), op.Verb, op.Name, op.Before, op.After)
			switch {
			case a == b && got && !a:
				p.opened = append(p.opened, what)
			case a == b && !got && a:
				p.dropped = append(p.dropped, what)
			}
		}
	}
}

func TestWindows(t *testing.T) {
	in, out := intent.Ingress, intent.Egress
	all := []int{0, 1, 2, 3}
	closed := []intent.Policy{policy("closed", in, "all"), policy("closed", out, "all")}
	with := func(more ...intent.Policy) []intent.Policy { return append(slices.Clone(closed), more...) }
	web := tcp(80, 80)
	for _, tc := range []struct {
		name          string
		before, after cluster
		closes        bool // it has to close first
	}{
		{
			name:   "an edit that replaces a range of ports drops nothing",
			before: cluster{map[intent.SetID][]int{"all": all, "s": {0}, "x": {1}}, []intent.Policy{policy("p", in, "s", rule(intent.Allow, "x", web))}},
			after:  cluster{map[intent.SetID][]int{"all": all, "s": {0}, "x": {1}}, []intent.Policy{policy("p", in, "s", rule(intent.Allow, "x", tcp(80, 90)))}},
		},
		{
			name:   "a new policy of both directions for endpoints that are not isolated drops nothing",
			before: cluster{map[intent.SetID][]int{"all": all, "s": {0}, "x": {1}}, nil},
			after: cluster{map[intent.SetID][]int{"all": all, "s": {0}, "x": {1}}, []intent.Policy{
				policy("p", in, "s", rule(intent.Allow, "x", web)), policy("p", out, "s", rule(intent.Allow, "x", web)),
			}},
		},
		{
			name: "so does it beside others",
			before: cluster{map[intent.SetID][]int{"all": all, "s": {0}, "x": {1}, "t": {2}}, []intent.Policy{
				policy("q", in, "t", rule(intent.Allow, "x", web)), policy("q", out, "t", rule(intent.Allow, "x", web)),
			}},
			after: cluster{map[intent.SetID][]int{"all": all, "s": {0}, "x": {1}, "t": {2}}, []intent.Policy{
				policy("q", in, "t", rule(intent.Allow, "x", web)), policy("q", out, "t", rule(intent.Allow, "x", web)),
				policy("p", in, "s", rule(intent.Allow, "x", web)), policy("p", out, "s", rule(intent.Allow, "x", web)),
			}},
		},
		{
			name: "a label that moves an endpoint from one policy to another drops nothing",
			before: cluster{map[intent.SetID][]int{"all": all, "a": {0}, "b": {1}, "x": {2}}, []intent.Policy{
				policy("a", in, "a", rule(intent.Allow, "x", web)), policy("b", in, "b", rule(intent.Allow, "x", web)),
			}},
			after: cluster{map[intent.SetID][]int{"all": all, "a": {}, "b": {0, 1}, "x": {2}}, []intent.Policy{
				policy("a", in, "a", rule(intent.Allow, "x", web)), policy("b", in, "b", rule(intent.Allow, "x", web)),
			}},
		},
		{
			name: "one list of an ordered tier is replaced at once",
			before: cluster{map[intent.SetID][]int{"all": all, "x": {1}, "y": {2}}, []intent.Policy{
				admin("p", in, "all", rule(intent.Allow, "x", web), rule(intent.Deny, "y", web)),
			}},
			after: cluster{map[intent.SetID][]int{"all": all, "x": {1}, "y": {2}}, []intent.Policy{
				admin("p", in, "all", rule(intent.Deny, "y", web), rule(intent.Allow, "x", tcp(80, 90)), rule(intent.Deny, "x", tcp(91, 91))),
			}},
		},
		{
			name: "one endpoint joins an end of a rule while another leaves the other end",
			before: cluster{map[intent.SetID][]int{"all": all, "s": {2}, "x": {1}}, with(
				policy("p", in, "s", rule(intent.Allow, "x", web)), policy("free", out, "all", rule(intent.Allow, "all", web)),
			)},
			after: cluster{map[intent.SetID][]int{"all": all, "s": {0, 2}, "x": {}}, with(
				policy("p", in, "s", rule(intent.Allow, "x", web)), policy("free", out, "all", rule(intent.Allow, "all", web)),
			)},
			closes: true,
		},
		{
			name: "one label opens the way out and closes the way in",
			before: cluster{map[intent.SetID][]int{"all": all, "a": {0}, "b": {}, "q": {1}}, with(
				policy("out", out, "b", rule(intent.Allow, "q", web)), policy("in", in, "q", rule(intent.Allow, "a", web)),
			)},
			after: cluster{map[intent.SetID][]int{"all": all, "a": {}, "b": {0}, "q": {1}}, with(
				policy("out", out, "b", rule(intent.Allow, "q", web)), policy("in", in, "q", rule(intent.Allow, "a", web)),
			)},
			closes: true,
		},
		{
			name: "the ordered lists of both directions change",
			before: cluster{map[intent.SetID][]int{"all": all, "p": {0}, "q": {1}, "r": {2}, "s": {3}}, []intent.Policy{
				admin("o", out, "p", rule(intent.Deny, "q", web), rule(intent.Allow, "s", web)),
				admin("i", in, "s", rule(intent.Deny, "p", web), rule(intent.Allow, "q", web)),
			}},
			after: cluster{map[intent.SetID][]int{"all": all, "p": {0}, "q": {1}, "r": {2}, "s": {3}}, []intent.Policy{
				admin("o", out, "p", rule(intent.Deny, "s", web), rule(intent.Allow, "q", web)),
				admin("i", in, "q", rule(intent.Deny, "p", web), rule(intent.Allow, "s", web)),
			}},
			closes: true,
		},
		{
			name: "an edit of a policy and a member that leaves one of its sets",
			before: cluster{map[intent.SetID][]int{"all": all, "s": {0}, "x": {1}, "y": {2}}, with(
				policy("p", in, "s", rule(intent.Allow, "x", web)), policy("q", in, "all", rule(intent.Allow, "y", tcp(9, 9))),
				policy("free", out, "all", rule(intent.Allow, "all", web)),
			)},
			after: cluster{map[intent.SetID][]int{"all": all, "s": {0}, "x": {1}, "y": {}}, with(
				policy("p", in, "s", rule(intent.Allow, "y", web)), policy("q", in, "all", rule(intent.Allow, "y", tcp(9, 9))),
				policy("free", out, "all", rule(intent.Allow, "all", web)),
			)},
			closes: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, back := range []bool{false, true} {
				before, after := tc.before.state(), tc.after.state()
				if back {
					before, after = after, before
				}
				p := cross(t, before, after)
				require.Empty(t, p.opened, "back: %v", back)
				if !back {
					require.Equal(t, tc.closes, p.closes)
				}
				if !p.closes {
					require.Empty(t, p.dropped, "back: %v", back)
				}
			}
		})
	}
}

// TestWindowsOfNetworkPolicies takes random walks through clusters with NetworkPolicies alone, where most plans open first.
func TestWindowsOfNetworkPolicies(t *testing.T) {
	opening, closing := 0, 0
	for seed := uint64(1); seed <= 6; seed++ {
		states := backendtest.History(seed, 10)
		for i, s := range states {
			plain := *s
			plain.LoadBalancers, plain.Nodes, plain.Policies = nil, nil, nil
			for _, p := range s.Policies {
				if p.Tier == intent.TierNetworkPolicy && !slices.ContainsFunc(p.Rules, func(r intent.Rule) bool { return r.Action != intent.Allow }) {
					plain.Policies = append(plain.Policies, withoutSCTP(p))
				}
			}
			plain.Endpoints = ofTheirOwn(s.Endpoints)
			states[i] = &plain
		}
		for i := 1; i < len(states); i++ {
			p := cross(t, states[i-1], states[i])
			require.Empty(t, p.opened, "seed %d step %d", seed, i)
			if p.closes {
				closing++
				continue
			}
			opening++
			require.Empty(t, p.dropped, "seed %d step %d", seed, i)
		}
	}
	t.Logf("%d plans open first, %d close first", opening, closing)
	require.Greater(t, opening, closing)
	require.Positive(t, closing)
}

// resolve adds the set of a DNS name to a state, whose addresses are those of some endpoints.
func resolve(s *backendtest.State, name string, to ...int) *backendtest.State {
	named := backendtest.SetSpec{ID: intent.SetID(name), Hosts: []string{name}, Bare: true}
	for _, i := range to {
		named.Prefixes = append(named.Prefixes, netip.PrefixFrom(s.Endpoints[i].Addrs[0], 32))
	}
	s.Sets = append(s.Sets, named)
	return s
}

// TestWindowsOfAddressGroups changes the addresses of a name together with something else that decides on the same connections.
func TestWindowsOfAddressGroups(t *testing.T) {
	clients, server, out := []int{1, 2}, []int{0}, intent.SetID("out")
	swap := func(of int) *backendtest.State {
		return resolve(cluster{
			map[intent.SetID][]int{"clients": clients, "server": server, out: {3 - of}}, []intent.Policy{
				policy("a", intent.Egress, "clients"), policy("b", intent.Egress, out, rule(intent.Allow, "server", tcp(1, 65535))),
				policy("c", intent.Ingress, "server", rule(intent.Allow, "named", tcp(1, 65535))),
			},
		}.state(), "named", of)
	}
	both := func(server, client int) *backendtest.State {
		s := cluster{
			map[intent.SetID][]int{"clients": clients, "server": {0}}, []intent.Policy{
				policy("a", intent.Egress, "clients", rule(intent.Allow, "servers", tcp(1, 65535))),
				policy("b", intent.Ingress, "server", rule(intent.Allow, "senders", tcp(1, 65535))),
			},
		}.state()
		return resolve(resolve(s, "servers", server), "senders", client)
	}
	listed := func(named []int, r intent.Rule) *backendtest.State {
		return resolve(cluster{
			map[intent.SetID][]int{"clients": clients, "server": server, "other": {3}}, []intent.Policy{
				admin("a", intent.Ingress, "server", r), admin("b", intent.Ingress, "other", rule(intent.Allow, "named", tcp(1, 65535))),
				policy("c", intent.Ingress, "server"),
			},
		}.state(), "named", named...)
	}
	for _, tc := range []struct {
		name          string
		before, after *backendtest.State
	}{
		{"a name moves to another client, and what clients may send moves the other way", swap(1), swap(2)},
		{"the names at both ends move, so that only states between them would have a connection", both(3, 1), both(0, 2)},
		{
			"a name gets a client while the rule that accepts it is replaced by one that denies",
			listed([]int{1}, rule(intent.Allow, "named", tcp(1, 65535))), listed(clients, rule(intent.Deny, "clients", tcp(1, 65535))),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, way := range [][2]*backendtest.State{{tc.before, tc.after}, {tc.after, tc.before}} {
				p := cross(t, way[0], way[1])
				require.Empty(t, p.opened)
				require.True(t, p.closes)
			}
		})
	}
}

// withoutSCTP is p without ports that the vrouter cannot match.
func withoutSCTP(p intent.Policy) intent.Policy {
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		p.Rules[i].Ports.Ranges = slices.DeleteFunc(slices.Clone(p.Rules[i].Ports.Ranges), func(r intent.PortRange) bool { return r.Protocol == intent.SCTP })
	}
	return p
}

// ofTheirOwn is endpoints of which no two share an address.
func ofTheirOwn(endpoints []intent.Endpoint) []intent.Endpoint {
	out := slices.Clone(endpoints)
	for i := range out {
		out[i].Addrs = slices.DeleteFunc(slices.Clone(out[i].Addrs), func(a netip.Addr) bool {
			return slices.ContainsFunc(out[:i], func(o intent.Endpoint) bool { return slices.Contains(o.Addrs, a) })
		})
	}
	return out
}

// moved reports whether the address of a party belongs to another endpoint in one of the states.
func moved(p intent.Party, states ...*backendtest.State) bool {
	for _, s := range states {
		for _, e := range s.Endpoints {
			if e.Key != p.Key && slices.Contains(e.Addrs, p.Addr) {
				return true
			}
		}
	}
	return false
}
