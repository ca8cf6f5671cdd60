package policygen_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

// clusterFeatures is the clauses of cluster-wide policies that a cluster uses.
func clusterFeatures(c *oracle.Cluster, found map[string]bool) {
	note := func(name string, is bool) { found[name] = found[name] || is }
	priorities := map[int32]int{}
	for _, p := range c.ClusterPolicies {
		priorities[p.Spec.Priority]++
		note("tier "+string(p.Spec.Tier), true)
		note("no such priority", p.Spec.Priority < 0 || p.Spec.Priority > 1000)
		note("subject namespaces", p.Spec.Subject.Namespaces != nil)
		note("subject pods", p.Spec.Subject.Pods != nil)
		note("no subject", p.Spec.Subject == v1alpha2.ClusterNetworkPolicySubject{})
		for _, r := range p.Spec.Ingress {
			note("action "+string(r.Action), true)
			note("no peers", len(r.From) == 0)
			note("empty protocols", r.Protocols != nil && len(r.Protocols) == 0)
			for _, p := range r.Protocols {
				note("number", p.TCP != nil && p.TCP.DestinationPort != nil && p.TCP.DestinationPort.Number != 0)
				note("range", p.SCTP != nil && p.SCTP.DestinationPort != nil && p.SCTP.DestinationPort.Range != nil)
				note("named port", p.DestinationNamedPort != "")
				note("protocol alone", p.UDP != nil && p.UDP.DestinationPort == nil)
			}
		}
		for i := range p.Spec.Egress {
			for _, to := range p.Spec.Egress[i].To {
				note("peer namespaces", to.Namespaces != nil)
				note("peer pods", to.Pods != nil)
				note("peer nodes", to.Nodes != nil)
				note("peer networks", len(to.Networks) > 0)
				note("peer domainNames", len(to.DomainNames) > 0)
				note("two fields", len(to.Networks) > 0 && (to.Pods != nil || to.Namespaces != nil))
				note("operator", to.Nodes != nil && hasOperator(to.Nodes, "Like"))
			}
		}
	}
	for _, n := range priorities {
		note("one priority twice", n > 1)
	}
	for _, p := range c.AdminPolicies {
		for i := range p.Spec.Egress {
			note("admin "+string(p.Spec.Egress[i].Action), true)
		}
	}
	for _, p := range c.BaselinePolicies {
		for i := range p.Spec.Ingress {
			note("baseline "+string(p.Spec.Ingress[i].Action), true)
		}
	}
	note("answer", len(c.Answers["db.example.com"]) > 0)
}

func hasOperator(s *metav1.LabelSelector, o metav1.LabelSelectorOperator) bool {
	for _, r := range s.MatchExpressions {
		if r.Operator == o {
			return true
		}
	}
	return false
}

func TestEveryClauseOfClusterPoliciesOccurs(t *testing.T) {
	ordinary := []string{
		"tier Admin", "tier Baseline", "subject namespaces", "subject pods", "action Accept", "action Deny", "action Pass",
		"number", "range", "named port", "peer namespaces", "peer pods", "peer nodes", "peer networks", "peer domainNames",
		"one priority twice", "admin Allow", "admin Deny", "admin Pass", "baseline Allow", "baseline Deny", "answer",
	}
	odd := []string{
		"tier Platform", "no such priority", "no subject", "action Reject", "no peers", "empty protocols", "protocol alone",
		"two fields", "operator", "baseline Pass",
	}
	for _, size := range []policygen.Size{{Cluster: 6}, {Cluster: 6, Odd: true}} {
		found := map[string]bool{}
		for seed := range uint64(250) {
			clusterFeatures(policygen.Generate(seed, size), found)
		}
		for _, name := range ordinary {
			require.True(t, found[name], name)
		}
		for _, name := range odd {
			require.Equal(t, size.Odd, found[name], name)
		}
	}
}

func TestClusterPoliciesChange(t *testing.T) {
	kinds := map[string]int{}
	c := policygen.Generate(3, policygen.Size{Cluster: 6})
	rng := policygen.NewRand(3)
	for range 2000 {
		before := *c
		was := dump(t, &before)
		before.Pods, before.Nodes = slices.Clone(c.Pods), slices.Clone(c.Nodes)
		before.Namespaces, before.Policies = slices.Clone(c.Namespaces), slices.Clone(c.Policies)
		before.ClusterPolicies, before.AdminPolicies = slices.Clone(c.ClusterPolicies), slices.Clone(c.AdminPolicies)
		before.BaselinePolicies = slices.Clone(c.BaselinePolicies)
		change := policygen.Mutate(c, rng)
		require.True(t, was == dump(t, &before), "an old object was written to: %s", change) //nolint:testifylint // Equal would print the whole cluster twice.
		what := change.What
		if change.Kind == policygen.KindDNS {
			what = "answer"
		}
		kinds[change.Kind+" "+string(change.Verb)+" "+what]++
	}
	for _, want := range []string{
		"ClusterNetworkPolicy added new", "ClusterNetworkPolicy deleted gone", "ClusterNetworkPolicy changed subject",
		"ClusterNetworkPolicy changed tier", "ClusterNetworkPolicy changed priority", "ClusterNetworkPolicy changed rules",
		"ClusterNetworkPolicy changed before another", "AdminNetworkPolicy added new", "AdminNetworkPolicy changed spec",
		"AdminNetworkPolicy deleted gone", "BaselineAdminNetworkPolicy added new", "BaselineAdminNetworkPolicy changed spec",
		"BaselineAdminNetworkPolicy deleted gone", "Node changed relabel", "DNS changed answer",
	} {
		require.NotZero(t, kinds[want], "%s of %v", want, kinds)
	}
	for _, doc := range policygen.Objects(c) {
		text, err := yaml.Marshal(doc)
		require.NoError(t, err)
		require.Contains(t, string(text), "apiVersion:")
	}
}
