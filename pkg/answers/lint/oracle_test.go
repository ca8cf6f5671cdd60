package lint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// probesPerCluster is how many connections are compared in each cluster, for each removed policy.
const probesPerCluster = 200

// clusterOf is what lint judges of a generated cluster.
func clusterOf(t testing.TB, c *oracle.Cluster) *lint.Cluster {
	t.Helper()
	tr := translator.New(translator.Options{})
	for _, o := range policygen.Objects(c) {
		require.NoError(t, tr.Put(o))
	}
	tr.Snapshot()
	for _, name := range tr.Hosts() {
		tr.SetHost(name, c.Answers[name])
	}
	return &lint.Cluster{
		Snapshot: tr.Snapshot(), View: tr.View(), Pods: c.Pods, Namespaces: c.Namespaces, Policies: c.Policies, Services: c.Services,
	}
}

// without is a cluster without some policies.
func without(c *oracle.Cluster, gone map[object.Ref]bool) *oracle.Cluster {
	out := *c
	out.Policies = slices.DeleteFunc(slices.Clone(c.Policies), func(np *networkingv1.NetworkPolicy) bool { return gone[refOf(np)] })
	return &out
}

func refOf(np *networkingv1.NetworkPolicy) object.Ref {
	return object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}
}

// differences lists the probes on which the oracle judges two clusters differently.
func differences(before, after *oracle.Cluster, probes []oracle.Flow) []string {
	var out []string
	old, now := before.Freeze(), after.Freeze()
	for _, f := range probes {
		if was, is := old.Allowed(f), now.Allowed(f); was.Allowed != is.Allowed {
			out = append(out, fmt.Sprintf("%+v: %v, then %v", f, was.Why, is.Why))
		}
	}
	return out
}

// plant adds a copy of a policy of the cluster that has only some of its rules, under a name that sorts behind or before it.
func plant(c *oracle.Cluster, seed uint64) *networkingv1.NetworkPolicy {
	if len(c.Policies) == 0 {
		return nil
	}
	np := c.Policies[int(seed)%len(c.Policies)].DeepCopy()
	if np.Name = "zz-copy"; seed%2 == 0 {
		np.Name = "aa-copy"
	}
	np.UID = ""
	if n := len(np.Spec.Ingress); n > 1 {
		np.Spec.Ingress = np.Spec.Ingress[:n-1]
	}
	if n := len(np.Spec.Egress); n > 1 {
		np.Spec.Egress = np.Spec.Egress[1:]
	}
	c.Policies = append(c.Policies, np)
	return np
}

// TestNoVerdictNeedsWhatIsRedundant removes what lint calls redundant, each alone and all together, from random clusters: no verdict
// of the oracle changes. A planted copy of a policy is found whenever it selects something and its rules match something.
func TestNoVerdictNeedsWhatIsRedundant(t *testing.T) {
	policies, rules, copies := 0, 0, 0
	seeds.Each(t, "lint", func(t *testing.T, seed uint64) {
		size := policygen.Size{Namespaces: 2, Pods: 10, Policies: 12, Odd: seed%5 == 0}
		if seed%3 == 0 {
			size.Cluster = 4
		}
		c := policygen.Generate(seed, size)
		planted := plant(c, seed)
		report := lint.Run(clusterOf(t, c), lint.Options{})
		require.Empty(t, report.NotExamined)
		gone, pruned := map[object.Ref]bool{}, without(c, nil)
		for _, f := range report.Findings {
			switch f.Rule {
			case lint.RedundantPolicy:
				policies++
				gone[f.Ref] = true
				require.NotEmpty(t, f.By, "seed %d: %s", seed, f.Ref)
				require.NotContains(t, f.By, f.Ref)
			case lint.RedundantRule:
				rules++
				drop(t, pruned, &f)
			}
		}
		probes := policygen.Probes(c, policygen.NewRand(seed), probesPerCluster)
		for ref := range gone {
			require.Empty(t, differences(c, without(c, map[object.Ref]bool{ref: true}), probes), "seed %d: %s", seed, ref)
		}
		require.Empty(t, differences(c, without(c, gone), probes), "seed %d: all policies", seed)
		settle(pruned)
		require.Empty(t, differences(c, without(pruned, gone), probes), "seed %d: all policies and rules", seed)
		if planted != nil && gone[refOf(planted)] {
			copies++
		}
	})
	t.Logf("%d policies, %d rules, %d planted copies", policies, rules, copies)
	if n := len(seeds.Of(t, "lint")); seeds.All() {
		require.Greater(t, copies, n/6, "of %d planted copies", n)
		require.Greater(t, rules, n/6)
	}
}

// drop marks a rule that a finding is about; settle removes the marked ones.
func drop(t *testing.T, c *oracle.Cluster, f *lint.Finding) {
	t.Helper()
	for i, np := range c.Policies {
		if refOf(np) != f.Ref {
			continue
		}
		np = np.DeepCopy()
		c.Policies[i] = np
		var n int
		if _, err := fmt.Sscanf(f.Field, "spec.ingress[%d]", &n); err == nil {
			np.Spec.Ingress[n].From = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: droppedBlock}}}
			return
		}
		_, err := fmt.Sscanf(f.Field, "spec.egress[%d]", &n)
		require.NoError(t, err, f.Field)
		np.Spec.Egress[n].To = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: droppedBlock}}}
		return
	}
	t.Fatalf("there is no %s", f.Ref)
}

const droppedBlock = "203.0.113.255/32"

func settle(c *oracle.Cluster) {
	dropped := func(peers []networkingv1.NetworkPolicyPeer) bool {
		return len(peers) == 1 && peers[0].IPBlock != nil && peers[0].IPBlock.CIDR == droppedBlock
	}
	for _, np := range c.Policies {
		np.Spec.Ingress = slices.DeleteFunc(np.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool { return dropped(r.From) })
		np.Spec.Egress = slices.DeleteFunc(np.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool { return dropped(r.To) })
	}
}

// TestWhatIsNeededIsNotRedundant removes every policy that lint does not call redundant and that another includes by its selector.
// If a verdict changes, it was right; most of the others have no connection that tells.
func TestWhatIsNeededIsNotRedundant(t *testing.T) {
	needed, redundant := 0, 0
	seeds.Each(t, "needed", func(t *testing.T, seed uint64) {
		c := policygen.Generate(seed, policygen.Size{Namespaces: 2, Pods: 10, Policies: 8})
		reported := map[object.Ref]bool{}
		for _, f := range lint.Run(clusterOf(t, c), lint.Options{}).Findings {
			reported[f.Ref] = reported[f.Ref] || f.Rule == lint.RedundantPolicy
		}
		probes := policygen.Probes(c, policygen.NewRand(seed), probesPerCluster)
		for _, np := range c.Policies {
			if len(differences(c, without(c, map[object.Ref]bool{refOf(np): true}), probes)) > 0 {
				needed++
				require.False(t, reported[refOf(np)], "seed %d: %s", seed, refOf(np))
			} else if reported[refOf(np)] {
				redundant++
			}
		}
	})
	t.Logf("%d needed, %d reported", needed, redundant)
	if seeds.All() {
		require.NotZero(t, needed)
	}
}
