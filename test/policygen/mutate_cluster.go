package policygen

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KindDNS is the kind of a change of an answer of DNS; its object has only a name.
const KindDNS = "DNS"

// clusterMoves are the changes of cluster-wide policies and of what they depend on.
func (g *generator) clusterMoves() []func() (Change, bool) {
	return []func() (Change, bool){
		g.addClusterPolicy, g.editClusterPolicy, g.editClusterPolicy, g.editClusterPolicy, g.deleteClusterPolicy,
		g.swapPriorities, g.editAdminPolicy, g.toggleBaseline, g.relabelNode, g.resolve,
	}
}

func (g *generator) addClusterPolicy() (Change, bool) {
	names := map[string]bool{}
	for _, p := range g.c.ClusterPolicies {
		names[p.Name] = true
	}
	for _, p := range g.c.AdminPolicies {
		names[p.Name] = true
	}
	i := 0
	for names[clusterPolicyName(i)] {
		i++
	}
	if len(names) > 15 {
		return Change{}, false
	}
	if g.chance(30) {
		p := g.adminPolicy(clusterPolicyName(i))
		g.c.AdminPolicies = append(g.c.AdminPolicies, p)
		return Change{Added, "AdminNetworkPolicy", p, "new"}, true
	}
	p := g.clusterPolicy(clusterPolicyName(i))
	g.c.ClusterPolicies = append(g.c.ClusterPolicies, p)
	return Change{Added, "ClusterNetworkPolicy", p, "new"}, true
}

// editClusterPolicy changes one part of a policy's spec, or all of it.
func (g *generator) editClusterPolicy() (Change, bool) {
	if len(g.c.ClusterPolicies) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.ClusterPolicies))
	p := g.c.ClusterPolicies[i].DeepCopy()
	fresh := g.clusterSpec()
	what := "spec"
	switch k := g.rng.IntN(8); {
	case k == 0:
		p.Spec.Subject, what = fresh.Subject, "subject"
	case k == 1:
		p.Spec.Tier, what = fresh.Tier, "tier"
	case k == 2:
		p.Spec.Priority, what = fresh.Priority, "priority"
	case k == 3 && len(p.Spec.Ingress) > 0:
		pick(g, []func(){func() { slices.Reverse(p.Spec.Ingress) }, func() {
			p.Spec.Ingress[0].Action = g.action("Accept")
		}})()
		what = "rules"
	case k == 4:
		p.Spec.Ingress, what = fresh.Ingress, "ingress"
	case k == 5:
		p.Spec.Egress, what = fresh.Egress, "egress"
	default:
		p.Spec = fresh
	}
	g.c.ClusterPolicies[i] = p
	return Change{Changed, "ClusterNetworkPolicy", p, what}, true
}

// swapPriorities gives a policy another priority and tier than it has: that of another policy.
func (g *generator) swapPriorities() (Change, bool) {
	if len(g.c.ClusterPolicies) < 2 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.ClusterPolicies))
	p, other := g.c.ClusterPolicies[i].DeepCopy(), pick(g, g.c.ClusterPolicies)
	p.Spec.Priority, p.Spec.Tier = max(other.Spec.Priority-1, 0), other.Spec.Tier
	g.c.ClusterPolicies[i] = p
	return Change{Changed, "ClusterNetworkPolicy", p, "before another"}, true
}

func (g *generator) editAdminPolicy() (Change, bool) {
	if len(g.c.AdminPolicies) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.AdminPolicies))
	p := g.c.AdminPolicies[i].DeepCopy()
	p.Spec = g.adminPolicy(p.Name).Spec
	g.c.AdminPolicies[i] = p
	return Change{Changed, "AdminNetworkPolicy", p, "spec"}, true
}

func (g *generator) deleteClusterPolicy() (Change, bool) {
	if g.chance(30) {
		return takeAway(g, &g.c.AdminPolicies, "AdminNetworkPolicy")
	}
	return takeAway(g, &g.c.ClusterPolicies, "ClusterNetworkPolicy")
}

// toggleBaseline adds the BaselineAdminNetworkPolicy, changes it or deletes it.
func (g *generator) toggleBaseline() (Change, bool) {
	const kind = "BaselineAdminNetworkPolicy"
	if len(g.c.BaselinePolicies) == 0 {
		p := g.baselinePolicy()
		g.c.BaselinePolicies = append(g.c.BaselinePolicies, p)
		return Change{Added, kind, p, "new"}, true
	}
	p := g.c.BaselinePolicies[0]
	g.c.BaselinePolicies = nil
	if g.chance(50) {
		return Change{Deleted, kind, p, "gone"}, true
	}
	p = p.DeepCopy()
	p.Spec = g.baselinePolicy().Spec
	g.c.BaselinePolicies = append(g.c.BaselinePolicies, p)
	return Change{Changed, kind, p, "spec"}, true
}

func (g *generator) relabelNode() (Change, bool) {
	if len(g.c.Nodes) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Nodes))
	n := g.c.Nodes[i].DeepCopy()
	g.labelNode(n)
	g.c.Nodes[i] = n
	return Change{Changed, "Node", n, "relabel"}, true
}

// resolve changes an answer of DNS.
func (g *generator) resolve() (Change, bool) {
	name := pick(g, []string{"db.example.com", "api.example.com"})
	g.answer(name)
	return Change{Changed, KindDNS, &metav1.ObjectMeta{Name: name}, fmt.Sprint(g.c.Answers[name])}, true
}
