package policygen

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/oracle"
)

// Families is which addresses the pods of a cluster have.
type Families int

// Mixed lets the seed choose among the others.
const (
	Mixed Families = iota
	IPv4Only
	IPv6Only
	DualStack // most pods have both, some one
)

// Size is how much to generate. Zero counts are replaced by a small default.
type Size struct {
	Namespaces, Nodes, Pods, Policies int
	Families                          Families
	// Services is the number of Services with their EndpointSlices. Zero is none: then nodes have no zones either.
	Services int
	// Cluster is the number of cluster-wide policies. Zero is none: then nodes have no labels for them, and DNS no answers.
	Cluster int
	// Odd adds what a current API server refuses but files and old objects may contain: IPv4 octets with leading zeros,
	// empty peers and ranges, exceptions as large as their block; of cluster-wide policies what cannot be understood at all.
	Odd bool
}

func (s Size) withDefaults() Size {
	for _, d := range []struct {
		n    *int
		size int
	}{{&s.Namespaces, 3}, {&s.Nodes, 2}, {&s.Pods, 14}, {&s.Policies, 6}} {
		if *d.n == 0 {
			*d.n = d.size
		}
	}
	return s
}

// NewRand is the source of randomness for a seed.
func NewRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0x6e65746c6f6f6d)) //nolint:gosec // G404: tests need repeatable numbers.
}

// Generate makes the cluster of a seed. The objects are as an API server would return them: defaults filled in,
// namespaces labelled with their names.
func Generate(seed uint64, size Size) *oracle.Cluster {
	size = size.withDefaults()
	g := &generator{rng: NewRand(seed), c: &oracle.Cluster{}, odd: size.Odd}
	g.families = size.Families
	if g.families == Mixed {
		g.families = []Families{IPv4Only, IPv6Only, DualStack, DualStack}[g.rng.IntN(4)]
	}
	for i := range size.Nodes {
		g.c.Nodes = append(g.c.Nodes, g.node(i))
	}
	for i := range size.Namespaces {
		g.c.Namespaces = append(g.c.Namespaces, g.namespace(namespaceName(i)))
	}
	for i := range size.Pods {
		ns := g.c.Namespaces[g.rng.IntN(len(g.c.Namespaces))].Name
		g.c.Pods = append(g.c.Pods, g.pod(ns, fmt.Sprintf("pod-%d", i)))
	}
	for i := range size.Policies {
		ns := g.c.Namespaces[g.rng.IntN(len(g.c.Namespaces))].Name
		g.c.Policies = append(g.c.Policies, g.policy(ns, fmt.Sprintf("policy.%d", i)))
	}
	if size.Services > 0 {
		for _, n := range g.c.Nodes {
			g.zone(n)
		}
	}
	for i := range size.Services {
		ns := g.c.Namespaces[g.rng.IntN(len(g.c.Namespaces))].Name
		g.serve(ns, fmt.Sprintf("svc-%d", i))
	}
	g.clusterPolicies(size.Cluster)
	return g.c
}

// generator makes objects that fit into a cluster.
type generator struct {
	rng      *rand.Rand
	c        *oracle.Cluster
	families Families
	odd      bool
}

// chance is true in p of 100 cases.
func (g *generator) chance(p int) bool { return g.rng.IntN(100) < p }

func pick[T any](g *generator, from []T) T { return from[g.rng.IntN(len(from))] }

func (g *generator) meta(ns, name string, labels map[string]string) metav1.ObjectMeta {
	uid := fmt.Sprintf("%016x", g.rng.Uint64())
	return metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels, UID: types.UID(uid)}
}

// namespaceName returns names that are easily confused when joined with those of pods.
func namespaceName(i int) string {
	names := []string{"a", "a-b", "shop"}
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("ns-%d", i)
}

func (g *generator) namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: g.meta("", name, g.namespaceLabels(name))}
}

func (g *generator) namespaceLabels(name string) map[string]string {
	labels := g.labels(namespaceAlphabet())
	labels[corev1.LabelMetadataName] = name
	return labels
}

// label is a key and its possible values.
type label struct {
	key    string
	values []string
}

func podAlphabet() []label {
	return []label{{"app", []string{"a", "b", "c"}}, {"tier", []string{"front", "back", ""}}, {"example.com/x", []string{"1", "a"}}}
}

func namespaceAlphabet() []label {
	return []label{{"team", []string{"red", "blue"}}, {"app", []string{"a", ""}}}
}

// labels gives each key of an alphabet one of its values, or leaves it out.
func (g *generator) labels(alphabet []label) map[string]string {
	labels := map[string]string{}
	for _, l := range alphabet {
		if g.chance(70) {
			labels[l.key] = pick(g, l.values)
		}
	}
	return labels
}

func (g *generator) node(i int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: g.meta("", fmt.Sprintf("node-%d", i), nil)}
	add := func(t corev1.NodeAddressType, a string) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: t, Address: a})
	}
	add(corev1.NodeHostName, n.Name)
	if g.families != IPv6Only {
		add(corev1.NodeInternalIP, fmt.Sprintf("10.0.0.%d", i+1))
	}
	if g.families != IPv4Only {
		add(corev1.NodeInternalIP, fmt.Sprintf("fd00:0:0:1::%d", i+1))
	}
	if g.families != IPv6Only && g.chance(40) {
		add(corev1.NodeExternalIP, g.nodeExternalIP("203.0.113.%d"))
	}
	return n
}

// nodeExternalIP is an address of that form that no node has.
func (g *generator) nodeExternalIP(form string) string {
	for {
		a := fmt.Sprintf(form, g.rng.IntN(250)+1)
		has := func(n *corev1.Node) bool {
			return slices.ContainsFunc(n.Status.Addresses, func(o corev1.NodeAddress) bool { return o.Address == a })
		}
		if !slices.ContainsFunc(g.c.Nodes, has) {
			return a
		}
	}
}

// zone puts a node into a zone, or into none.
func (g *generator) zone(n *corev1.Node) {
	n.Labels = nil
	if g.chance(85) {
		n.Labels = map[string]string{corev1.LabelTopologyZone: pick(g, zones())}
	}
}

// nodeAddrs is the valid addresses of a node.
func nodeAddrs(n *corev1.Node) []netip.Addr {
	var addrs []netip.Addr
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil {
			addrs = append(addrs, ip)
		}
	}
	return addrs
}
