package translator_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// zones are a translator for each node of a cluster, with the snapshots that they made last.
type zones struct {
	translators map[string]*translator.Translator
	given       map[string]map[key]any // by node
	snapshots   map[string]*intent.Snapshot
	order       *rand.Rand
}

func newZones(order *rand.Rand) *zones {
	return &zones{map[string]*translator.Translator{}, map[string]map[key]any{}, map[string]*intent.Snapshot{}, order}
}

// nodesOf lists the nodes of a cluster and those that pods say they are on.
func nodesOf(c *oracle.Cluster) []string {
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	for _, p := range c.Pods {
		names = append(names, p.Spec.NodeName)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// feed brings every zone in sync with the cluster, and compares each with one that starts from scratch.
func (z *zones) feed(t *testing.T, when string, c *oracle.Cluster) {
	t.Helper()
	for _, node := range nodesOf(c) {
		if z.translators[node] == nil {
			z.translators[node] = translator.New(translator.Options{Node: node})
		}
	}
	for _, node := range slices.Sorted(maps.Keys(z.translators)) {
		tr := z.translators[node]
		z.given[node] = feed(t, z.order, tr, z.given[node], c)
		z.snapshots[node] = tr.Snapshot()
		fresh := translator.New(translator.Options{Node: node})
		feed(t, z.order, fresh, nil, c)
		require.Equal(t, dump(fresh.Snapshot()), dump(z.snapshots[node]), "%s zone %s: history shows", when, node)
		require.Equal(t, fresh.Problems(), tr.Problems())
		requireSubjectsAreLocal(t, z.snapshots[node], node)
	}
}

func requireSubjectsAreLocal(t *testing.T, s *intent.Snapshot, node string) {
	t.Helper()
	subject := func(id intent.SetID) {
		require.NotZero(t, s.Set(id).Len(), "%s of zone %s is empty", id, node)
		for e := range s.Set(id).Members.All() {
			require.Equal(t, node, e.Node, "%s is a subject of zone %s", e.Key, node)
		}
	}
	needed := map[intent.SetID]bool{intent.IsolatedIngress: true, intent.IsolatedEgress: true}
	for p := range s.Policies() {
		subject(p.Subject)
		needed[p.Subject] = true
		for _, r := range p.Rules {
			needed[r.Peer.Set] = true
			for _, part := range r.Parts {
				needed[part.Peer.Set] = true
				if part.Shared != "" {
					subject(part.Shared)
					needed[part.Shared] = true
				}
			}
			if r.Subject != "" {
				subject(r.Subject)
				needed[r.Subject] = true
			}
		}
	}
	for set := range s.Sets() {
		require.True(t, needed[set.ID], "%s (%s) is not needed in zone %s", set.ID, set.Title, node)
	}
	for n := range s.Nodes() {
		require.Equal(t, node, n.Name)
	}
}

// judge is the verdict on a flow to no frontend: its source's zone decides on egress and its destination's on
// ingress, and the others, which know neither as a subject, must not deny it.
func (z *zones) judge(f intent.Flow) (egress, ingress intent.Decision) {
	egress, ingress = intent.Decision{Allowed: true}, intent.Decision{Allowed: true}
	join := func(into *intent.Decision, d intent.Decision) {
		into.Isolated = into.Isolated || d.Isolated
		into.Allowed = into.Allowed && d.Allowed
	}
	for _, s := range z.snapshots {
		v := s.Evaluate(f)
		join(&egress, v.Egress)
		join(&ingress, v.Ingress)
	}
	return egress, ingress
}

// compare compares the zones together with a translator for all nodes.
func (z *zones) compare(t *testing.T, when string, c *oracle.Cluster, central *intent.Snapshot, probes []oracle.Flow) {
	t.Helper()
	for _, f := range probes {
		flow := flowOf(f)
		if !decided(c, f.Src) || !decided(c, f.Dst) {
			continue
		}
		want := central.Evaluate(flow)
		if want.Balanced == nil {
			egress, ingress := z.judge(flow)
			require.Equal(t, [4]bool{want.Egress.Isolated, want.Egress.Allowed, want.Ingress.Isolated, want.Ingress.Allowed},
				[4]bool{egress.Isolated, egress.Allowed, ingress.Isolated, ingress.Allowed}, "%s: %+v", when, f)
			continue
		}
		at := z.snapshots[flow.Node] // where it enters
		if at == nil {
			continue
		}
		got := at.Evaluate(flow)
		require.NotNil(t, got.Balanced)
		require.Equal(t, want.Balanced.Outcome, got.Balanced.Outcome, "%s: %+v", when, f)
		require.Len(t, got.Balanced.Choices, len(want.Balanced.Choices))
		for i, choice := range want.Balanced.Choices {
			require.Equal(t, choice.Backend, got.Balanced.Choices[i].Backend)
			on := flow
			on.Dst, on.Port = intent.Party{Addr: choice.Backend.Addr}, choice.Backend.Port
			to := choice.Backend.AddrPort()
			if _, again := central.Frontend(on.Network, on.Protocol, to); again != nil || !decided(c, oracle.End{Addr: to.Addr()}) {
				continue
			}
			egress, ingress := z.judge(on)
			require.Equal(t, [2]bool{choice.Egress.Allowed, choice.Ingress.Allowed}, [2]bool{egress.Allowed, ingress.Allowed},
				"%s: %+v to %s", when, f, to)
		}
	}
}

// decided reports whether one end of a flow is one party: an address of pods of several nodes is not, and neither is
// a pod that runs nowhere yet.
func decided(c *oracle.Cluster, end oracle.End) bool {
	nodes := map[string]bool{}
	for _, p := range c.Pods {
		named := end.Pod == p.Namespace+"/"+p.Name
		hasAddr := slices.ContainsFunc(p.Status.PodIPs, func(ip corev1.PodIP) bool {
			a, err := netip.ParseAddr(ip.IP)
			return err == nil && a.Unmap() == end.Addr
		})
		if named || end.Pod == "" && hasAddr {
			nodes[p.Spec.NodeName] = true
		}
	}
	return len(nodes) <= 1 && !nodes[""]
}

// TestZonesMatchTheWhole changes random clusters, with a translator for each node beside one for all of them:
// together they have to give the same verdicts, and each has to end where one ends that starts from scratch.
func TestZonesMatchTheWhole(t *testing.T) {
	seeds.Each(t, "zones", func(t *testing.T, seed uint64) {
		size := policygen.Size{Odd: seed%3 == 0, Nodes: 3}
		if seed%2 == 1 {
			size.Services = 8
		}
		cluster := policygen.Generate(seed, size)
		rng, order := policygen.NewRand(seed), newOrder(seed)
		z, whole := newZones(order), translator.New(translator.Options{})
		var given map[key]any
		for step := range 6 {
			when := fmt.Sprintf("seed %d step %d", seed, step)
			given = feed(t, order, whole, given, cluster)
			z.feed(t, when, cluster)
			z.compare(t, when, cluster, whole.Snapshot(), policygen.Probes(cluster, rng, probesPerState))
			policygen.Mutate(cluster, rng)
			if pod := cluster.Pods[rng.IntN(len(cluster.Pods))]; rng.IntN(2) == 0 { // to another node, or to none yet
				names := append(nodesOf(cluster), "")
				pod.Spec.NodeName = names[rng.IntN(len(names))]
			}
		}
	})
}

// placed is newPod on another node.
func placed(p *corev1.Pod, node string) *corev1.Pod {
	p.Spec.NodeName = node
	return p
}

func startZone(t testing.TB, node string, objects ...any) (*translator.Translator, *intent.Snapshot) {
	t.Helper()
	tr := translator.New(translator.Options{Node: node})
	put(t, tr, objects...)
	return tr, tr.Snapshot()
}

func TestZoneShowsWhatConcernsItsPods(t *testing.T) {
	db, web := newPod("db", "10.0.1.1", "db", nil), newPod("web", "10.0.2.1", "web", nil)
	objects := []any{
		newNamespace(nil), db, placed(web, "n2"), placed(newPod("other", "10.0.2.2", "other", nil), "n2"),
		newPolicy(t, "db", webToDB), newPolicy(t, "web", `{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress]}`),
	}
	tr, s := startZone(t, "n1", objects...)
	require.Equal(t, 1, s.PolicyCount(), "that of web has no subject here")
	p := s.Policy("NetworkPolicy/shop/db/ingress")
	require.NotNil(t, p)
	require.True(t, s.Set(p.Rules[0].Peer.Set).Contains(netip.MustParseAddr("10.0.2.1")), "peers are those of all nodes")
	require.Equal(t, 1, s.Set(intent.IsolatedIngress).Len())
	require.Nil(t, s.Set(intent.IsolatedEgress))

	put(t, tr, placed(newPod("other", "10.0.2.2", "elsewhere", nil), "n2"))
	require.Same(t, s, tr.Snapshot(), "no pod here is affected")

	put(t, tr, placed(newPod("web", "10.0.2.9", "web", nil), "n2"))
	now := tr.Snapshot()
	c := only(t, s, now)
	require.Empty(t, c.Policies)
	require.Empty(t, c.Sets)
	require.Len(t, c.Members, 1, "the peers of the policy of db")
	require.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.2.9")}, c.Members[0].AddrsAdded)

	put(t, tr, newPod("web", "10.0.1.9", "web", nil)) // comes to n1
	next := tr.Snapshot()
	c = only(t, now, next)
	require.Equal(t, []intent.PolicyID{"NetworkPolicy/shop/web/egress"}, c.Policies)
	require.Contains(t, c.Sets, intent.IsolatedEgress)

	put(t, tr, placed(web, "n2")) // and goes back
	last := tr.Snapshot()
	require.Equal(t, dump(s), dump(last))
	require.Nil(t, last.Set(intent.IsolatedEgress))
}

// TestPodWithoutNodeIsNoSubject follows a pod from its creation to the node that it was given.
func TestPodWithoutNodeIsNoSubject(t *testing.T) {
	tr, s := startZone(t, "n1", newNamespace(nil), placed(newPod("db", "10.0.1.1", "db", nil), ""), newPolicy(t, "db", webToDB))
	require.Zero(t, s.PolicyCount())
	put(t, tr, newPod("db", "10.0.1.1", "db", nil))
	require.Equal(t, 1, tr.Snapshot().PolicyCount())

	host := newPod("db", "10.0.1.1", "db", nil)
	host.Spec.HostNetwork = true
	put(t, tr, host)
	require.Zero(t, tr.Snapshot().PolicyCount())
	tr.Remove(object.KindPod, "shop", "db")
	tr.Remove(object.KindNetworkPolicy, "shop", "db")
	tr.Remove(object.KindNamespace, "", "shop")
	require.Empty(t, dump(tr.Snapshot()))
}

// TestZonesNameThingsAlike checks that the names of rows do not depend on the node: those of two nodes with the same pods
// are equal.
func TestZonesNameThingsAlike(t *testing.T) {
	ofZone := func(node string) []string {
		tr, s := startZone(t, node, newNamespace(nil), newPolicy(t, "db", named), newPolicy(t, "all", teamIn),
			placed(newPod("db", "10.0.1.1", "db", map[string]int32{"sql": 5432}), node))
		require.Empty(t, tr.Problems())
		require.Equal(t, 2, s.PolicyCount())
		return dump(s)
	}
	require.Equal(t, ofZone("n1"), ofZone("n2"))
}

// TestNamedPortsOfZones checks that a port of ingress is that of the pods here, and one of egress that of peers anywhere.
func TestNamedPortsOfZones(t *testing.T) {
	_, s := startZone(t, "n1", newNamespace(nil),
		newPod("a", "10.0.1.1", "db", map[string]int32{"sql": 5432}),
		placed(newPod("b", "10.0.2.1", "db", map[string]int32{"sql": 5433}), "n2"),
		newPolicy(t, "in", named),
		newPolicy(t, "out", `{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: sql}], to: [{podSelector: {}}]}]}`))
	ports := func(id intent.PolicyID) []uint16 {
		var all []uint16
		for _, r := range s.Policy(id).Rules {
			all = append(all, r.Ports.Ranges[0].First)
		}
		return all
	}
	require.Equal(t, []uint16{5432}, ports("NetworkPolicy/shop/in/ingress"))
	require.Equal(t, []uint16{5432, 5433}, ports("NetworkPolicy/shop/out/egress"))
}

func TestZoneAdmitsItsOwnNodeAlone(t *testing.T) {
	node := func(name, addr string) *corev1.Node {
		n := &corev1.Node{}
		n.Name = name
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: addr}}
		return n
	}
	tr, s := startZone(t, "n1", newNamespace(nil), node("n1", "192.0.2.1"), node("n2", "192.0.2.2"),
		newPod("db", "10.0.1.1", "db", nil), placed(newPod("web", "10.0.2.1", "web", nil), "n2"), newPolicy(t, "db", webToDB))
	require.NotNil(t, s.Policy("Node/n1/ingress"))
	require.Nil(t, s.Policy("Node/n2/ingress"))
	require.Nil(t, s.Node("n2"))
	put(t, tr, newPod("db", "10.0.1.1", "free", nil))
	require.Nil(t, tr.Snapshot().Policy("Node/n1/ingress"), "there is nothing to be admitted to")
}

// TestUnknownOwnNodeIsReported checks that a misspelt node name, which would isolate no pod, is reported.
func TestUnknownOwnNodeIsReported(t *testing.T) {
	tr, s := startZone(t, "n3", newNamespace(nil), newPod("db", "10.0.1.1", "db", nil), newPolicy(t, "db", webToDB))
	require.Zero(t, s.PolicyCount())
	require.Len(t, tr.Problems(), 1)
	require.Equal(t, "Node/n3: there is no such node and no pod on it, so no policy selects a pod here: expected the name of a node",
		tr.Problems()[0].Error())
	put(t, tr, &corev1.Node{ObjectMeta: placed(newPod("n3", "10.0.0.9", "", nil), "").ObjectMeta})
	tr.Snapshot()
	require.Empty(t, tr.Problems())
}

// TestAPodThatJoinsDividesNoRules has many policies that select the same pods. Another of these pods shows no policy that was not shown
// before, so no rule is divided again: that takes several times as many allocations, as the first pod shows.
func TestAPodThatJoinsDividesNoRules(t *testing.T) {
	const policies = 100
	tr, _ := startZone(t, "n1", newNamespace(nil), newPod("first", "10.0.0.1", "other", nil))
	for i := range policies {
		put(t, tr, newPolicy(t, fmt.Sprint("p", i), from("web", "web", "ops", fmt.Sprint("lab", i))))
	}
	require.Zero(t, tr.Snapshot().PolicyCount())
	shown := testing.AllocsPerRun(10, func() {
		put(t, tr, newPod("first", "10.0.0.1", "web", nil))
		require.Equal(t, policies, tr.Snapshot().PolicyCount())
		put(t, tr, newPod("first", "10.0.0.1", "other", nil))
		require.Zero(t, tr.Snapshot().PolicyCount())
	})
	put(t, tr, newPod("first", "10.0.0.1", "web", nil))
	tr.Snapshot()
	joined := 0
	allocated := testing.AllocsPerRun(10, func() {
		joined++
		put(t, tr, newPod(fmt.Sprint("web", joined), fmt.Sprint("10.0.1.", joined), "web", nil))
		tr.Snapshot()
	})
	require.Less(t, 3*allocated, shown)
}
