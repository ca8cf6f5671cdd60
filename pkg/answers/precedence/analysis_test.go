package precedence_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/answers/precedence"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

// shop is a snapshot with some policies. Sets are web (two pods), all (four pods), db (one), none (no pod), lan (10.0.0.0/8), low
// and high (its halves).
func shop(policies ...*intent.Policy) *intent.Snapshot {
	pod := func(n byte) intent.Endpoint {
		return intent.Endpoint{
			Key: object.Key{Namespace: "shop", Name: fmt.Sprint("p", n)}, Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, n})},
		}
	}
	b := intent.NewSnapshot().Next()
	b.CreateSet(&intent.Set{ID: "web", Members: backendtest.NewMembers(pod(1), pod(2))})
	b.CreateSet(&intent.Set{ID: "db", Members: backendtest.NewMembers(pod(3))})
	b.CreateSet(&intent.Set{ID: "all", Members: backendtest.NewMembers(pod(1), pod(2), pod(3), pod(4))})
	b.CreateSet(&intent.Set{ID: "none", Members: backendtest.NewMembers()})
	b.CreateSet(&intent.Set{ID: intent.IsolatedIngress, Members: backendtest.NewMembers(pod(1), pod(2))})
	for id, prefix := range map[intent.SetID]string{"lan": "10.0.0.0/8", "low": "10.0.0.0/9", "high": "10.128.0.0/9", "far": "192.0.2.0/24"} {
		b.CreateSet(&intent.Set{ID: id, Prefixes: []netip.Prefix{netip.MustParsePrefix(prefix)}})
	}
	for _, p := range policies {
		b.PutPolicy(p)
	}
	return b.Commit()
}

// policy is an ingress policy of the admin tier. A rule is "ACTION PEER PORTS", where any is every peer or port.
func policy(name string, tier intent.Tier, priority uint16, subject intent.SetID, rules ...string) *intent.Policy {
	o := intent.Origin{Kind: object.KindClusterNetworkPolicy, Name: name}
	if tier == intent.TierNetworkPolicy {
		o.Kind, o.Namespace = object.KindNetworkPolicy, "shop"
	}
	p := &intent.Policy{
		ID: intent.NewPolicyID(o, intent.Ingress), Origin: o, Tier: tier, Priority: priority, Subject: subject,
		Isolates: tier == intent.TierNetworkPolicy,
	}
	for i, text := range rules {
		f := strings.Fields(text)
		r := intent.Rule{Path: fmt.Sprintf("spec.ingress[%d]", i), Peer: intent.Peer{Kind: intent.PeerSet, Set: intent.SetID(f[1])}}
		r.Action = map[string]intent.Action{"allow": intent.Allow, "deny": intent.Deny, "pass": intent.Pass}[f[0]]
		if f[1] == "any" {
			r.Peer = intent.Peer{Kind: intent.PeerAny}
		}
		var first, last uint16
		if f[2] == "any" {
			r.Ports.Any = true
		} else {
			if n, _ := fmt.Sscanf(f[2], "%d-%d", &first, &last); n == 1 {
				last = first
			}
			r.Ports.Ranges = []intent.PortRange{{Protocol: intent.TCP, First: first, Last: last}}
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

func TestFindings(t *testing.T) {
	const admin, baseline = intent.TierAdmin, intent.TierBaseline
	ref := object.Ref{Kind: object.KindClusterNetworkPolicy, Name: "m"}
	for _, tc := range []struct {
		name     string
		policies []*intent.Policy
		want     []string
	}{
		{"an earlier rule of the policy", []*intent.Policy{policy("m", admin, 5, "all", "allow web 80", "deny web 80", "deny web 81")}, []string{
			"spec.ingress[1] never matches at present: what it matches is decided before by ClusterNetworkPolicy/m spec.ingress[0]",
		}},
		{"two rules that cover its ports together", []*intent.Policy{
			policy("a", admin, 1, "all", "allow any 80-89", "deny all 90"), policy("m", admin, 5, "web", "deny db 80-90", "deny db 91"),
		}, []string{"spec.ingress[0] never matches at present: what it matches is decided before by ClusterNetworkPolicy/a spec.ingress[0], " +
			"ClusterNetworkPolicy/a spec.ingress[1]"}},
		{"two blocks that cover its block together", []*intent.Policy{
			policy("a", admin, 1, "all", "allow low any", "deny high any"), policy("m", admin, 5, "web", "deny lan 80", "deny far 80"),
		}, []string{"spec.ingress[0] never matches at present: what it matches is decided before by ClusterNetworkPolicy/a spec.ingress[0], " +
			"ClusterNetworkPolicy/a spec.ingress[1]"}},
		{"one block is left", []*intent.Policy{
			policy("a", admin, 1, "all", "allow low any", "deny high 81"), policy("m", admin, 5, "web", "deny lan 80"),
		}, nil},
		{"a block covers pods by their addresses", []*intent.Policy{
			policy("a", admin, 1, "all", "allow lan any"), policy("m", admin, 5, "web", "deny web 80", "deny any 80"),
		}, []string{"spec.ingress[0] never matches at present: what it matches is decided before by ClusterNetworkPolicy/a spec.ingress[0]"}},
		{"pods never cover a block", []*intent.Policy{
			policy("a", admin, 1, "all", "allow all any"), policy("m", admin, 5, "web", "deny lan 80"),
		}, nil},
		{"the whole policy", []*intent.Policy{
			policy("a", admin, 1, "all", "pass any any"), policy("m", admin, 5, "web", "deny lan 80", "allow db any", "allow none 90"),
		}, []string{"ingress: has no effect at present: what it matches is decided before by ClusterNetworkPolicy/a spec.ingress[0]"}},
		{"a later policy changes nothing", []*intent.Policy{
			policy("z", admin, 6, "all", "deny any any"), policy("m", admin, 5, "web", "deny lan 80"),
		}, nil},
		{"fewer pods", []*intent.Policy{
			policy("a", admin, 1, "web", "deny any any"), policy("m", admin, 5, "all", "deny lan 80"),
		}, nil},
		{"rules without a pod have no findings", []*intent.Policy{
			policy("a", admin, 1, "all", "deny any any"), policy("m", admin, 5, "none", "deny lan 80"),
		}, nil},
		{"isolated pods never come to the baseline tier", []*intent.Policy{policy("m", baseline, 5, "web", "deny lan 80")}, []string{
			"ingress: has no effect at present: what it matches is decided before by the isolation of its pods by NetworkPolicies",
		}},
		{"not all pods are isolated", []*intent.Policy{policy("m", baseline, 5, "all", "deny lan 80")}, nil},
		{"the admin tier decides before the baseline tier", []*intent.Policy{
			policy("a", admin, 900, "all", "deny any 80"), policy("m", baseline, 5, "all", "deny lan 80"),
		}, []string{"ingress: has no effect at present: what it matches is decided before by ClusterNetworkPolicy/a spec.ingress[0]"}},
		{"what the admin tier passes comes to the baseline tier", []*intent.Policy{
			policy("a", admin, 900, "all", "pass db 80", "deny any 80"), policy("m", baseline, 5, "all", "deny lan 80", "allow all 80"),
		}, nil},
		{"what it passes is something else", []*intent.Policy{
			policy("a", admin, 900, "all", "pass far any", "pass any 81", "deny any 80"), policy("m", baseline, 5, "all", "deny lan 80"),
		}, []string{"ingress: has no effect at present: what it matches is decided before by ClusterNetworkPolicy/a spec.ingress[2]"}},
		{"one priority, different actions", []*intent.Policy{
			policy("a", admin, 5, "web", "allow db 80"), policy("m", admin, 5, "all", "deny far 1", "deny lan 80"),
			policy("n", admin, 5, "db", "allow web 80-81"), policy("o", admin, 5, "web", "deny db 80", "allow far 2"),
			policy("p", admin, 6, "web", "allow db 80"), policy("q", baseline, 5, "web", "allow db 80"),
		}, []string{
			"spec.ingress[1] contradicts ClusterNetworkPolicy/a spec.ingress[0] of the same priority: their names decide which comes first",
			"spec.ingress[1] contradicts ClusterNetworkPolicy/n spec.ingress[0] of the same priority: their names decide which comes first",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := shop(tc.policies...)
			report := precedence.Of(s, ref, precedence.Budget)
			require.Equal(t, tc.want, report.Messages(s))
			cut := precedence.Of(s, ref, 0)
			require.True(t, cut.Incomplete, "it compared something without a budget")
			require.Contains(t, strings.Join(cut.Messages(s), "\n"), "not all rules could be compared")
		})
	}
}

func TestNetworkPoliciesAreOverridden(t *testing.T) {
	ref := object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "m"}
	m := policy("m", intent.TierNetworkPolicy, 0, "web", "allow db 80", "allow lan 81")
	for _, tc := range []struct {
		name, want string
		rules      []string
	}{
		{"all is denied", "ingress: has no effect at present: what it matches is decided before by ClusterNetworkPolicy/a spec.ingress[0]", []string{"deny any any"}},
		{
			"a rule is decided, isolation stays",
			"spec.ingress[0] never matches at present: what it matches is decided before by ClusterNetworkPolicy/a spec.ingress[0]",
			[]string{"allow db any"},
		},
		{"it is passed to", "", []string{"pass any any", "deny any any"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := shop(m, policy("a", intent.TierAdmin, 1, "all", tc.rules...))
			report := precedence.Of(s, ref, precedence.Budget)
			require.Equal(t, tc.want, strings.Join(report.Messages(s), "\n"))
		})
	}
}

// TestCoveredRulesNeverDecide evaluates every probe of random worlds: a rule that is reported as covered decides none.
func TestCoveredRulesNeverDecide(t *testing.T) {
	reported := map[precedence.Kind]int{}
	seeds.Each(t, "precedence", func(t *testing.T, seed uint64) {
		s := intent.NewSnapshot()
		var state *backendtest.State
		for _, state = range backendtest.History(seed, 14) {
			s = backendtest.Advance(s, state)
		}
		used := map[string]bool{} // policies and rules that decide or pass something
		for _, f := range backendtest.Probes(state) {
			v := s.Evaluate(f)
			for _, d := range []intent.Decision{v.Egress, v.Ingress} {
				for _, ref := range append(d.By, d.Passed...) {
					used[string(ref.Policy)] = true
					if ref.Rule >= 0 {
						used[string(ref.Policy)+" "+s.Policy(ref.Policy).Rules[ref.Rule].Path] = true
					}
				}
			}
		}
		for p := range s.Policies() {
			report := precedence.Of(s, p.Origin.Ref(), precedence.Budget)
			require.False(t, report.Incomplete)
			for _, f := range report.Findings {
				reported[f.Kind]++
				switch f.Kind {
				case precedence.Covered:
					require.False(t, used[string(f.Policy)+" "+f.Path], "seed %d: %s: %s", seed, f.Policy, f.Message(s))
				case precedence.Overridden:
					require.False(t, used[string(f.Policy)], "seed %d: %s: %s", seed, f.Policy, f.Message(s))
				case precedence.Contradiction:
				}
			}
		}
	})
	if seeds.All() {
		for _, kind := range []precedence.Kind{precedence.Covered, precedence.Overridden} {
			require.Greater(t, reported[kind], 5, "%s: %v", kind, reported)
		}
	}
}

// TestManyRulesAreWithinTheBudget analyzes one of 200 policies with 25 rules each and one priority, which select 1,000 pods.
func TestManyRulesAreWithinTheBudget(t *testing.T) {
	var pods []intent.Endpoint
	for i := range 1000 {
		addr := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		pods = append(pods, intent.Endpoint{Key: object.Key{Namespace: "shop", Name: fmt.Sprint(i)}, Addrs: []netip.Addr{addr}})
	}
	b := intent.NewSnapshot().Next()
	for i := range 20 {
		b.CreateSet(&intent.Set{ID: intent.SetID(fmt.Sprint("set", i)), Members: backendtest.NewMembers(pods[i*40 : 200+i*40]...)})
	}
	for i := range 200 {
		var rules []string
		for j := range 25 {
			rules = append(rules, fmt.Sprintf("allow set%d %d", (i+j)%20, 1000+i*25+j))
		}
		b.PutPolicy(policy(fmt.Sprint("p", 1000+i), intent.TierAdmin, 5, intent.SetID(fmt.Sprint("set", i%20)), rules...))
	}
	s := b.Commit()
	report := precedence.Of(s, object.Ref{Kind: object.KindClusterNetworkPolicy, Name: "p1199"}, precedence.Budget)
	require.Empty(t, report.Messages(s))
}
