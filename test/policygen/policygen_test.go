package policygen_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

func text(t *testing.T, c *oracle.Cluster) string {
	t.Helper()
	b, err := policygen.YAML(c)
	require.NoError(t, err)
	return string(b)
}

func dump(t *testing.T, c *oracle.Cluster) string {
	t.Helper()
	b, err := json.Marshal(c)
	require.NoError(t, err)
	return string(b)
}

func TestSeedsRepeat(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(30) {
		once := text(t, policygen.Generate(seed, policygen.Size{Odd: true}))
		require.Equal(t, once, text(t, policygen.Generate(seed, policygen.Size{Odd: true})), "seed %d", seed)
		require.False(t, seen[once], "seed %d", seed)
		seen[once] = true
	}
}

func TestYAMLReadsBack(t *testing.T) {
	c := policygen.Generate(7, policygen.Size{Pods: 1, Nodes: 1, Namespaces: 1, Policies: 1})
	docs := strings.Split(text(t, c), "---\n")
	require.Len(t, docs, 5)
	var p networkingv1.NetworkPolicy
	require.NoError(t, yaml.UnmarshalStrict([]byte(docs[4]), &p))
	require.Equal(t, "networking.k8s.io/v1", p.APIVersion)
	require.Equal(t, c.Policies[0].Name, p.Name)
	var pod corev1.Pod
	require.NoError(t, yaml.UnmarshalStrict([]byte(docs[3]), &pod))
	require.Equal(t, c.Pods[0].Status.PodIPs, pod.Status.PodIPs)
}

// features is the clauses that a policy uses.
func features(p *networkingv1.NetworkPolicy, found map[string]bool) {
	note := func(name string, is bool) { found[name] = found[name] || is }
	note("no policyTypes", len(p.Spec.PolicyTypes) == 0)
	note("both types", len(p.Spec.PolicyTypes) == 2)
	note("empty podSelector", len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) == 0)
	note("empty ingress", p.Spec.Ingress != nil && len(p.Spec.Ingress) == 0)
	note("section outside types", len(p.Spec.PolicyTypes) == 1 && p.Spec.PolicyTypes[0] == "Egress" && len(p.Spec.Ingress) > 0)
	selector := func(s *metav1.LabelSelector) {
		for _, r := range s.MatchExpressions {
			note(string(r.Operator), true)
		}
	}
	selector(&p.Spec.PodSelector)
	rule := func(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, way string) {
		note("any peer", len(peers) == 0)
		note("any port", len(ports) == 0)
		for _, x := range peers {
			note("both selectors", x.PodSelector != nil && x.NamespaceSelector != nil)
			note("pods only", x.PodSelector != nil && x.NamespaceSelector == nil)
			note("namespaces only", x.PodSelector == nil && x.NamespaceSelector != nil)
			note("empty peer", x == networkingv1.NetworkPolicyPeer{})
			if x.IPBlock != nil {
				note("several excepts", len(x.IPBlock.Except) > 1)
				prefix, err := netip.ParsePrefix(x.IPBlock.CIDR)
				note("leading zeros", err != nil)
				note("host bits", err == nil && prefix != prefix.Masked())
				note("block of IPv6", err == nil && prefix.Addr().Is6())
				note("everything", err == nil && prefix.Bits() == 0)
			}
		}
		for _, x := range ports {
			named := x.Port != nil && x.Port.Type == intstr.String
			note("named port "+way, named)
			note("protocol alone", x.Port == nil && x.Protocol != nil)
			note("empty port", x.Port == nil && x.Protocol == nil)
			note("SCTP", x.Protocol != nil && *x.Protocol == corev1.ProtocolSCTP)
			note("endPort", x.EndPort != nil)
			note("range upside down", x.EndPort != nil && *x.EndPort < x.Port.IntVal)
		}
	}
	for _, r := range p.Spec.Ingress {
		rule(r.From, r.Ports, "in")
	}
	for _, r := range p.Spec.Egress {
		rule(r.To, r.Ports, "out")
	}
}

func TestEveryClauseOccurs(t *testing.T) {
	ordinary := []string{
		"no policyTypes", "both types", "empty podSelector", "empty ingress", "section outside types", "In", "NotIn", "Exists",
		"DoesNotExist", "any peer", "any port", "both selectors", "pods only", "namespaces only", "several excepts",
		"host bits", "block of IPv6", "everything", "named port in", "named port out", "protocol alone", "empty port",
		"SCTP", "endPort",
	}
	odd := []string{"empty peer", "leading zeros", "range upside down"}
	for _, size := range []policygen.Size{{}, {Odd: true}} {
		found := map[string]bool{}
		pods := map[string]bool{}
		for seed := range uint64(200) {
			c := policygen.Generate(seed, size)
			for _, p := range c.Policies {
				features(p, found)
			}
			used := map[string]bool{}
			for _, p := range c.Pods {
				finished := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
				pods["host network"] = pods["host network"] || p.Spec.HostNetwork
				pods["no address"] = pods["no address"] || p.Status.PodIP == ""
				pods["two addresses"] = pods["two addresses"] || len(p.Status.PodIPs) == 2
				pods["address used again"] = pods["address used again"] || finished && used[p.Status.PodIP]
				used[p.Status.PodIP] = true
			}
		}
		require.Len(t, pods, 4)
		for name, ok := range pods {
			require.True(t, ok, name)
		}
		for _, name := range ordinary {
			require.True(t, found[name], name)
		}
		for _, name := range odd {
			require.Equal(t, size.Odd, found[name], name)
		}
	}
}

// TestMutateLeavesOldObjectsAlone also sees that every kind of change happens, and that a seed repeats them.
func TestMutateLeavesOldObjectsAlone(t *testing.T) {
	run := func() (kinds map[string]int, last string) {
		c := policygen.Generate(3, policygen.Size{})
		rng := policygen.NewRand(3)
		kinds = map[string]int{}
		for range 400 {
			before := *c
			was := dump(t, &before)
			before.Pods = slices.Clone(c.Pods)
			before.Namespaces = slices.Clone(c.Namespaces)
			before.Nodes = slices.Clone(c.Nodes)
			before.Policies = slices.Clone(c.Policies)
			change := policygen.Mutate(c, rng)
			require.True(t, was == dump(t, &before), "an old object was written to: %s", change) //nolint:testifylint // Equal would print the whole cluster twice.
			kinds[change.Kind+" "+string(change.Verb)+" "+change.What]++
		}
		return kinds, text(t, c)
	}
	kinds, last := run()
	again, lastAgain := run()
	require.Equal(t, kinds, again)
	require.True(t, last == lastAgain) //nolint:testifylint // Equal would print the whole cluster twice.
	for _, want := range []string{
		"Pod changed relabel", "Pod added new", "Pod deleted gone", "Pod changed finish", "Pod changed address",
		"Pod changed recreate", "Namespace changed relabel", "Namespace added new", "Namespace deleted gone",
		"NetworkPolicy added new", "NetworkPolicy changed podSelector", "NetworkPolicy changed ingress",
		"NetworkPolicy deleted gone", "Node changed external address",
	} {
		require.NotZero(t, kinds[want], "%s of %v", want, kinds)
	}
}

func TestProbesAskWhatMatters(t *testing.T) {
	var flows, allowed, denied, outside int
	for seed := range uint64(100) {
		c := policygen.Generate(seed, policygen.Size{})
		judge := c.Freeze()
		for _, f := range policygen.Probes(c, policygen.NewRand(seed), 100) {
			require.Equal(t, f.Src.Addr.Is4(), f.Dst.Addr.Is4())
			flows++
			if f.Src.Pod == "" || f.Dst.Pod == "" {
				outside++
			}
			if judge.Allowed(f).Allowed {
				allowed++
			} else {
				denied++
			}
		}
	}
	t.Logf("%d flows: %d allowed, %d denied, %d to or from outside", flows, allowed, denied, outside)
	require.Greater(t, flows, 9000)
	require.Greater(t, allowed, flows/5)
	require.Greater(t, denied, flows/5)
	require.Greater(t, outside, flows/3)
}

func TestWorkload(t *testing.T) {
	c := policygen.Workload(1000)
	require.Len(t, c.Namespaces, 20)
	require.Len(t, c.Pods, 1000)
	require.Len(t, c.Policies, 200)
	addrs := map[string]bool{}
	selected := map[string]int{}
	for _, p := range c.Pods {
		addrs[p.Status.PodIP] = true
		selected[p.Namespace+" "+p.Labels["app"]]++
	}
	require.Len(t, addrs, 1000)
	for _, p := range c.Policies {
		require.Equal(t, 5, selected[p.Namespace+" "+p.Spec.PodSelector.MatchLabels["app"]], p.Name)
	}
	require.Len(t, selected, 200)
	require.Equal(t, text(t, c), text(t, policygen.Workload(1000)))
	judge := c.Freeze()
	var allowed, denied int
	for _, f := range policygen.Probes(c, policygen.NewRand(1), 2000) {
		if judge.Allowed(f).Allowed {
			allowed++
		} else {
			denied++
		}
	}
	t.Logf("%d allowed, %d denied", allowed, denied)
	require.NotZero(t, allowed)
	require.NotZero(t, denied)
}
