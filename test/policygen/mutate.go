package policygen

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/oracle"
)

// Verb is what happened to an object.
type Verb string

// The verbs.
const (
	Added   Verb = "added"
	Changed Verb = "changed"
	Deleted Verb = "deleted"
)

// Change is one change of a cluster.
type Change struct {
	Verb   Verb
	Kind   string        // such as Pod, or KindDNS
	Object metav1.Object // as it is now, or as it was before its deletion
	What   string        // a description, such as "relabel"
}

// String formats c on one line.
func (c Change) String() string {
	return fmt.Sprintf("%s %s/%s %s (%s)", c.Kind, c.Object.GetNamespace(), c.Object.GetName(), c.Verb, c.What)
}

// Mutate makes one random change to c and returns it; Services and their slices change only if there are some,
// cluster-wide policies and DNS only if c was generated with them. Objects
// are replaced, never modified, so the old ones stay as they were.
func Mutate(c *oracle.Cluster, rng *rand.Rand) Change {
	g := &generator{rng: rng, c: c, families: familiesOf(c)}
	moves := []func() (Change, bool){
		g.relabelPod, g.relabelPod, g.relabelPod, g.addPod, g.addPod, g.deletePod, g.finishPod, g.moveAddress,
		g.recreatePod, g.relabelNamespace, g.relabelNamespace, g.addNamespace, g.deleteNamespace,
		g.addPolicy, g.editPolicy, g.editPolicy, g.deletePolicy, g.changeNode,
	}
	if len(c.Services)+len(c.Slices) > 0 {
		moves = append(moves, g.serviceMoves()...)
	}
	if c.Answers != nil {
		moves = append(moves, g.clusterMoves()...)
	}
	for {
		if change, ok := pick(g, moves)(); ok {
			return change
		}
	}
}

// familiesOf guesses the Families of Generate from the addresses of the nodes.
func familiesOf(c *oracle.Cluster) Families {
	var v4, v6 bool
	for _, n := range c.Nodes {
		for _, a := range nodeAddrs(n) {
			v4, v6 = v4 || a.Is4(), v6 || a.Is6()
		}
	}
	switch {
	case v4 && v6:
		return DualStack
	case v6:
		return IPv6Only
	default:
		return IPv4Only
	}
}

// changePod changes a copy of a random pod for which suits returns true.
func (g *generator) changePod(what string, suits func(*corev1.Pod) bool, edit func(*corev1.Pod)) (Change, bool) {
	if len(g.c.Pods) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Pods))
	if !suits(g.c.Pods[i]) {
		return Change{}, false
	}
	p := g.c.Pods[i].DeepCopy()
	edit(p)
	g.c.Pods[i] = p
	return Change{Changed, "Pod", p, what}, true
}

func anyPod(*corev1.Pod) bool { return true }

func (g *generator) relabelPod() (Change, bool) {
	return g.changePod("relabel", anyPod, func(p *corev1.Pod) {
		l := pick(g, podAlphabet())
		if _, ok := p.Labels[l.key]; ok && g.chance(30) {
			delete(p.Labels, l.key)
			return
		}
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[l.key] = pick(g, l.values)
	})
}

func (g *generator) finishPod() (Change, bool) {
	return g.changePod("finish", onPodNetwork, func(p *corev1.Pod) {
		p.Status.Phase = pick(g, []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed})
	})
}

// moveAddress gives a pod other addresses, or its first ones.
func (g *generator) moveAddress() (Change, bool) {
	alive := func(p *corev1.Pod) bool {
		return !p.Spec.HostNetwork && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
	}
	return g.changePod("address", alive, func(p *corev1.Pod) {
		node := g.rng.IntN(len(g.c.Nodes))
		p.Spec.NodeName = g.c.Nodes[node].Name
		p.Status.Phase = corev1.PodRunning
		g.setAddrs(p, g.freshAddrs(node))
	})
}

// recreatePod replaces a pod by one of the same name with other ports, and mostly the same addresses and labels.
func (g *generator) recreatePod() (Change, bool) {
	return g.changePod("recreate", anyPod, func(p *corev1.Pod) {
		if g.chance(25) {
			*p = *g.pod(p.Namespace, p.Name)
			return
		}
		p.UID = g.meta("", "", nil).UID
		g.containers(p)
	})
}

func (g *generator) addPod() (Change, bool) {
	taken := map[string]bool{}
	for _, p := range g.c.Pods {
		taken[p.Namespace+"/"+p.Name] = true
	}
	ns, ok := g.anyNamespace()
	if !ok {
		return Change{}, false
	}
	i := 0
	for taken[fmt.Sprintf("%s/pod-%d", ns, i)] {
		i++
	}
	p := g.pod(ns, fmt.Sprintf("pod-%d", i))
	g.c.Pods = append(g.c.Pods, p)
	return Change{Added, "Pod", p, "new"}, true
}

func (g *generator) anyNamespace() (string, bool) {
	if len(g.c.Namespaces) == 0 {
		return "", false
	}
	return pick(g, g.c.Namespaces).Name, true
}

func (g *generator) deletePod() (Change, bool) {
	if len(g.c.Pods) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Pods))
	p := g.c.Pods[i]
	g.c.Pods = slices.Delete(slices.Clone(g.c.Pods), i, i+1)
	return Change{Deleted, "Pod", p, "gone"}, true
}

func (g *generator) relabelNamespace() (Change, bool) {
	if len(g.c.Namespaces) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Namespaces))
	n := g.c.Namespaces[i].DeepCopy()
	n.Labels = g.namespaceLabels(n.Name)
	g.c.Namespaces[i] = n
	return Change{Changed, "Namespace", n, "relabel"}, true
}

// addNamespace recreates a deleted namespace, or adds a new one.
func (g *generator) addNamespace() (Change, bool) {
	if len(g.c.Namespaces) > 6 {
		return Change{}, false
	}
	i := 0
	for slices.ContainsFunc(g.c.Namespaces, func(n *corev1.Namespace) bool { return n.Name == namespaceName(i) }) {
		i++
	}
	n := g.namespace(namespaceName(i))
	g.c.Namespaces = append(g.c.Namespaces, n)
	return Change{Added, "Namespace", n, "new"}, true
}

// deleteNamespace deletes a namespace. Its content stays for now, as watches may report it.
func (g *generator) deleteNamespace() (Change, bool) {
	return takeAway(g, &g.c.Namespaces, "Namespace")
}

func (g *generator) addPolicy() (Change, bool) {
	taken := map[string]bool{}
	for _, p := range g.c.Policies {
		taken[p.Namespace+"/"+p.Name] = true
	}
	ns, ok := g.anyNamespace()
	if !ok || len(g.c.Policies) > 40 {
		return Change{}, false
	}
	i := 0
	for taken[fmt.Sprintf("%s/policy.%d", ns, i)] {
		i++
	}
	p := g.policy(ns, fmt.Sprintf("policy.%d", i))
	g.c.Policies = append(g.c.Policies, p)
	return Change{Added, "NetworkPolicy", p, "new"}, true
}

// editPolicy changes one part of a policy's spec, or all of it.
func (g *generator) editPolicy() (Change, bool) {
	if len(g.c.Policies) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Policies))
	p := g.c.Policies[i].DeepCopy()
	fresh := g.spec()
	what := "spec"
	switch g.rng.IntN(5) {
	case 0:
		p.Spec.PodSelector, what = fresh.PodSelector, "podSelector"
	case 1:
		p.Spec.PolicyTypes, what = fresh.PolicyTypes, "policyTypes"
	case 2:
		p.Spec.Ingress, what = fresh.Ingress, "ingress"
	case 3:
		p.Spec.Egress, what = fresh.Egress, "egress"
	default:
		p.Spec = fresh
	}
	g.c.Policies[i] = p
	return Change{Changed, "NetworkPolicy", p, what}, true
}

func (g *generator) deletePolicy() (Change, bool) {
	if len(g.c.Policies) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Policies))
	p := g.c.Policies[i]
	g.c.Policies = slices.Delete(slices.Clone(g.c.Policies), i, i+1)
	return Change{Deleted, "NetworkPolicy", p, "gone"}, true
}

// changeNode gives a node another external address, or removes it.
func (g *generator) changeNode() (Change, bool) {
	if len(g.c.Nodes) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Nodes))
	n := g.c.Nodes[i].DeepCopy()
	external := func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeExternalIP }
	n.Status.Addresses = slices.DeleteFunc(n.Status.Addresses, external)
	if g.chance(70) {
		a := corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: g.nodeExternalIP("203.0.113.%d")}
		if g.families == IPv6Only {
			a.Address = g.nodeExternalIP("2001:db8::%d")
		}
		n.Status.Addresses = append(n.Status.Addresses, a)
	}
	g.c.Nodes[i] = n
	return Change{Changed, "Node", n, "external address"}, true
}

// takeAway deletes one of several objects of a kind; the last one stays.
func takeAway[T metav1.Object](g *generator, from *[]T, kind string) (Change, bool) {
	if len(*from) < 2 {
		return Change{}, false
	}
	i := g.rng.IntN(len(*from))
	gone := (*from)[i]
	*from = slices.Delete(slices.Clone(*from), i, i+1)
	return Change{Deleted, kind, gone, "gone"}, true
}
