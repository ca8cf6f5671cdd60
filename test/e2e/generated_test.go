//go:build e2e

package e2e_test

import (
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

var tiersFlag = flag.Bool("tiers", false, "fail if the OVN that is tested has no tiers for ACLs")

// startLab starts a control plane of the OVN to test.
func startLab(t *testing.T) *ovnlab.Lab {
	t.Helper()
	lab := ovnlab.Start(t)
	if *tiersFlag {
		require.True(t, lab.HasTiers(), "this OVN has no tiers: is another one first in PATH?")
	}
	return lab
}

// probesEach is how many flows are asked about in every generated cluster.
const probesEach = 600

// TestGenerated judges clusters that a seed makes up, each with two generations of policies: the second is applied over
// the first.
func TestGenerated(t *testing.T) {
	tiered := 0
	seeds.Each(t, "generated", func(t *testing.T, seed uint64) { tiered += judgeSeed(t, seed) })
	if *tiersFlag {
		require.Positive(t, tiered, "no ACL is in a tier of cluster-wide policies")
	}
}

// judgeSeed returns how many ACLs of the cluster are in tiers of cluster-wide policies.
func judgeSeed(t *testing.T, seed uint64) (tiered int) {
	t.Helper()
	size := policygen.Size{Cluster: 8 * int(seed%2)}
	cluster := policygen.Generate(seed, size)
	dropTwins(cluster)
	rng := policygen.NewRand(seed)
	dir := t.TempDir()
	var lab *ovnlab.Lab
	for generation := range 2 {
		if generation == 1 {
			next := policygen.Generate(seed+1<<32, size)
			cluster.ClusterPolicies, cluster.AdminPolicies = next.ClusterPolicies, next.AdminPolicies
			cluster.BaselinePolicies = next.BaselinePolicies
			cluster.Policies = append(cluster.Policies[:len(cluster.Policies)/2:len(cluster.Policies)/2], next.Policies...)
			for i, p := range cluster.Policies {
				p.Name = fmt.Sprintf("policy.%d", i) // one that stays may have the name of one that comes
			}
		}
		dropNames(cluster)
		text, err := policygen.YAML(cluster)
		require.NoError(t, err)
		put(t, dir, "cluster.yaml", string(text))
		flows := policygen.Probes(cluster, rng, probesEach)
		if lab == nil {
			lab = startLab(t)
		}
		n := generatedNetwork(t, cluster, flows)
		lab.Install(n)
		mustApply(t, dir, lab.NBUnix(), "--force") // the second generation deletes most of the first
		settled := lab.Dump()
		lab.Sync()
		if !compareFlows(t, lab, cluster, slices.DeleteFunc(flows, func(f oracle.Flow) bool {
			return n.Unroutable(ovnlab.Flow{Src: f.Src.Addr, Dst: f.Dst.Addr})
		})) {
			t.Fatalf("repeat with -seed %d -seeds 1; generation %d:\n%s", seed, generation, text)
		}
		code, out := apply(t, dir, lab.NBUnix(), "--dry-run")
		require.Equal(t, inSync, code, "the second plan is not empty:\n%s", out)
		mustApply(t, dir, lab.NBUnix())
		require.Equal(t, settled, lab.Dump(), "the second run wrote something")
		if lab.HasTiers() {
			tiered += lab.Rows("ACL") - lab.RowsWhere("ACL", "tier=0")
		}
	}
	return tiered
}

// dropNames replaces DNS names in cluster-wide policies by a network: apply looks nothing up.
func dropNames(c *oracle.Cluster) {
	for _, p := range c.ClusterPolicies {
		for i := range p.Spec.Egress {
			for j := range p.Spec.Egress[i].To {
				if to := &p.Spec.Egress[i].To[j]; len(to.DomainNames) > 0 {
					to.DomainNames, to.Networks = nil, []v1alpha2.CIDR{"203.0.113.0/24"}
				}
			}
		}
	}
	for _, p := range c.AdminPolicies {
		for i := range p.Spec.Egress {
			for j := range p.Spec.Egress[i].To {
				if to := &p.Spec.Egress[i].To[j]; len(to.DomainNames) > 0 {
					to.DomainNames, to.Networks = nil, []v1alpha1.CIDR{"203.0.113.0/24"}
				}
			}
		}
	}
}

// dropTwins removes live pods that have an address of another: one port cannot have it from the other in one OVN.
func dropTwins(c *oracle.Cluster) {
	used := map[string]bool{}
	for _, p := range live(c) {
		for _, ip := range p.Status.PodIPs {
			if used[ip.IP] {
				c.Pods = slices.DeleteFunc(c.Pods, func(o *corev1.Pod) bool { return o == p })
				break
			}
		}
		for _, ip := range p.Status.PodIPs {
			used[ip.IP] = true
		}
	}
}

// generatedNetwork is the cluster's network, in which every end of flows can be reached.
func generatedNetwork(t *testing.T, c *oracle.Cluster, flows []oracle.Flow) *ovnlab.Network {
	t.Helper()
	world := map[netip.Addr]bool{}
	for _, f := range flows {
		for _, e := range []oracle.End{f.Src, f.Dst} {
			if e.Pod == "" {
				world[e.Addr] = true
			}
		}
	}
	var all []netip.Addr
	for a := range world {
		all = append(all, a)
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return network(t, c, all...)
}
