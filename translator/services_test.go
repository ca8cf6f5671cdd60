package translator_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/service"
)

// newService is a Service of the namespace shop, created at an hour; 0 is without an age. Its spec is YAML.
func newService(t testing.TB, name string, hour int, spec string) *corev1.Service {
	t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	if hour > 0 {
		s.CreationTimestamp = metav1.Date(2026, time.March, 1, hour, 0, 0, 0, time.UTC)
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &s.Spec))
	return s
}

// newSlice is an IPv4 slice of the namespace shop with port 8080 and these addresses.
func newSlice(name, service string, addrs ...string) *discoveryv1.EndpointSlice {
	port := int32(8080)
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, a := range addrs {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

func newNode(name string, addrs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, a := range addrs {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

const (
	plain  = `{clusterIP: 10.96.0.1, ports: [{port: 80}]}`
	other  = `{clusterIP: 10.96.0.2, ports: [{port: 80}]}`
	onNode = `{type: NodePort, clusterIP: 10.96.0.3, ports: [{port: 80, nodePort: 30080}]}`
	both   = `{clusterIPs: [10.96.0.4, "fd00::4"], externalIPs: [192.0.2.1], ports: [{port: 80}, {name: b, port: 81}]}`
)

// backends formats the backends of the first frontend of a Service, "-" when there is no such Service.
func backends(s *intent.Snapshot, name string) string {
	lb := s.LoadBalancer(intent.LoadBalancerID("Service/shop/" + name))
	if lb == nil {
		return "-"
	}
	var parts []string
	for b := range lb.Frontends[0].Backends.All() {
		parts = append(parts, b.Addr.String())
	}
	return strings.Join(parts, " ")
}

// TestSlicesFollowTheirService moves endpoints about and looks at which Services were written.
func TestSlicesFollowTheirService(t *testing.T) {
	unlabelled, headless := newSlice("w1", "", "10.0.0.1"), newSlice("w1", "web", "10.0.0.1")
	headless.Labels[corev1.IsHeadlessService] = ""
	unready, no := newSlice("w2", "web", "10.0.0.9"), false
	unready.Endpoints[0].Conditions.Ready = &no
	tr, s := start(t, newService(t, "web", 0, plain), newService(t, "db", 0, other), newSlice("d1", "db", "10.0.1.1"))
	for _, step := range []struct {
		name    string
		do      func()
		web, db string
		wrote   string
	}{
		{"a slice", func() { put(t, tr, newSlice("w1", "web", "10.0.0.1")) }, "10.0.0.1", "10.0.1.1", "web"},
		{"an endpoint", func() { put(t, tr, newSlice("w1", "web", "10.0.0.2", "10.0.0.1")) }, "10.0.0.1 10.0.0.2", "10.0.1.1", "web"},
		{"the same in another order", func() { put(t, tr, newSlice("w1", "web", "10.0.0.1", "10.0.0.2")) }, "10.0.0.1 10.0.0.2", "10.0.1.1", ""},
		{"one endpoint twice", func() { put(t, tr, newSlice("w2", "web", "10.0.0.2")) }, "10.0.0.1 10.0.0.2", "10.0.1.1", ""},
		{"once again", func() { tr.Remove(object.KindEndpointSlice, "shop", "w2") }, "10.0.0.1 10.0.0.2", "10.0.1.1", ""},
		{"to another Service", func() { put(t, tr, newSlice("w1", "db", "10.0.0.1")) }, "", "10.0.0.1 10.0.1.1", "db web"},
		{"to one that is not there", func() { put(t, tr, newSlice("w1", "cache", "10.0.0.1")) }, "", "10.0.1.1", "db"},
		{"back", func() { put(t, tr, newSlice("w1", "web", "10.0.0.1")) }, "10.0.0.1", "10.0.1.1", "web"},
		{"no label", func() { put(t, tr, unlabelled) }, "", "10.0.1.1", "web"},
		{"a label", func() { put(t, tr, newSlice("w1", "web", "10.0.0.1")) }, "10.0.0.1", "10.0.1.1", "web"},
		{"the label of headless ones", func() { put(t, tr, headless) }, "", "10.0.1.1", "web"},
		{"an endpoint that is of no use", func() { put(t, tr, unready) }, "", "10.0.1.1", ""},
		{"a slice before its Service", func() {
			tr.Remove(object.KindService, "shop", "db")
			put(t, tr, newSlice("d1", "db", "10.0.1.2"))
		}, "", "-", "db"},
		{"and the Service", func() { put(t, tr, newService(t, "db", 0, other)) }, "", "10.0.1.2", "db"},
		{"the last slice goes", func() { tr.Remove(object.KindEndpointSlice, "shop", "d1") }, "", "", "db"},
		{"the Services go", func() {
			tr.Remove(object.KindService, "shop", "db")
			tr.Remove(object.KindService, "shop", "web")
			tr.Remove(object.KindEndpointSlice, "shop", "never-was")
		}, "-", "-", "db web"},
	} {
		was := s
		step.do()
		s = tr.Snapshot()
		require.Equal(t, step.web, backends(s, "web"), step.name)
		require.Equal(t, step.db, backends(s, "db"), step.name)
		require.Equal(t, step.wrote, written(t, was, s), step.name)
	}
	require.Zero(t, s.LoadBalancerCount())
}

// written names the Services that differ between a snapshot and its successor.
func written(t *testing.T, was, now *intent.Snapshot) string {
	t.Helper()
	if was == now {
		return ""
	}
	var names []string
	for _, id := range only(t, was, now).LoadBalancers {
		names = append(names, strings.TrimPrefix(string(id), "Service/shop/"))
	}
	return strings.Join(names, " ")
}

// TestNodesMatterToNodePorts changes nodes and looks at which Services were written.
func TestNodesMatterToNodePorts(t *testing.T) {
	tr, s := start(t, newService(t, "web", 0, plain), newService(t, "np", 0, onNode), newNode("n1", "172.18.0.1"))
	labelled := newNode("n1", "172.18.0.1")
	labelled.Labels = map[string]string{corev1.LabelTopologyZone: "a"}
	for _, step := range []struct {
		name         string
		do           func()
		addrs, wrote string
		nodes        []string
	}{
		{"a heartbeat", func() {
			n := newNode("n1", "172.18.0.1")
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady}}
			put(t, tr, n)
		}, "172.18.0.1", "", nil},
		{"a zone", func() { put(t, tr, labelled) }, "172.18.0.1", "", []string{"n1"}},
		{"a node", func() { put(t, tr, newNode("n2", "172.18.0.2")) }, "172.18.0.1 172.18.0.2", "np", []string{"n2"}},
		{"a node without addresses", func() { put(t, tr, newNode("n3")) }, "172.18.0.1 172.18.0.2", "", []string{"n3"}},
		{"addresses", func() { put(t, tr, newNode("n3", "fc00::3", "172.18.0.3")) }, "172.18.0.1 172.18.0.2 172.18.0.3", "np", []string{"n3"}},
		{"of another family", func() { put(t, tr, newNode("n3", "fc00::33", "172.18.0.3")) }, "172.18.0.1 172.18.0.2 172.18.0.3", "", []string{"n3"}},
		{"a node goes", func() { tr.Remove(object.KindNode, "", "n1") }, "172.18.0.2 172.18.0.3", "np", []string{"n1"}},
		{"no node port any more", func() { put(t, tr, newService(t, "np", 0, `{clusterIP: 10.96.0.3, ports: [{port: 80}]}`)) }, "", "np", nil},
		{"a node that no Service needs", func() { tr.Remove(object.KindNode, "", "n2") }, "", "", []string{"n2"}},
		{"node ports again", func() { put(t, tr, newService(t, "np", 0, onNode)) }, "172.18.0.3", "np", nil},
		{"the Service goes", func() { tr.Remove(object.KindService, "shop", "np") }, "", "np", nil},
		{"and a node moves", func() { put(t, tr, newNode("n3", "172.18.0.4")) }, "", "", []string{"n3"}},
	} {
		was := s
		step.do()
		s = tr.Snapshot()
		var addrs []string
		if lb := s.LoadBalancer("Service/shop/np"); lb != nil {
			for _, f := range lb.Frontends {
				if f.Kind == intent.NodePort {
					addrs = append(addrs, f.Addr.String())
				}
			}
		}
		require.Equal(t, step.addrs, strings.Join(addrs, " "), step.name)
		require.Equal(t, step.wrote, written(t, was, s), step.name)
		if was != s {
			require.Equal(t, step.nodes, only(t, was, s).Nodes, step.name)
		}
	}
	require.Nil(t, s.Node("n1"))
	require.NotNil(t, s.Node("n3"))
}

// TestConflicts follows who has 10.96.0.1:80 while Services that want it come, age and go.
func TestConflicts(t *testing.T) {
	tr, s := start(t, newService(t, "bystander", 1, other))
	remove := func(name string) func() { return func() { tr.Remove(object.KindService, "shop", name) } }
	add := func(name string, hour int) func() { return func() { put(t, tr, newService(t, name, hour, plain)) } }
	inNetwork := newService(t, "b", 1, plain)
	inNetwork.Annotations = map[string]string{service.NetworkAnnotation: "blue"}
	ported := `{clusterIP: 10.96.0.1, ports: [{port: 81}]}`
	for _, step := range []struct {
		name     string
		do       func()
		has      string // in the default network
		problems string // the Services with a conflict reported
		wrote    string
	}{
		{"the first", add("b", 2), "b", "", "b"},
		{"a younger one", add("a", 3), "b", "a<b", ""},
		{"one without an age", add("0", 0), "b", "0<b a<b", ""},
		{"an older one", add("c", 1), "c", "0<c a<c b<c", "b c"},
		{"it goes", remove("c"), "b", "0<b a<b", "b c"},
		{"it gives up the port", func() { put(t, tr, newService(t, "b", 2, ported)) }, "a", "0<a", "a b"},
		{"and wants it again", add("b", 2), "b", "0<b a<b", "a b"},
		{"recreated it is the youngest", add("b", 4), "a", "0<a b<a", "a b"},
		{"of one age the first by name", add("b", 3), "a", "0<a b<a", ""},
		{"older again, in another network", func() { put(t, tr, inNetwork) }, "", "0<b a<b", "a b"},
		{"back in this one", add("b", 1), "b", "0<b a<b", "b"},
		{"all but one go", func() { remove("a")(); remove("b")() }, "0", "", "0 b"},
		{"changing places", func() { add("a", 5)(); put(t, tr, newService(t, "0", 0, ported)) }, "a", "", "0 a"},
	} {
		was := s
		step.do()
		s = tr.Snapshot()
		flow := intent.Flow{Protocol: intent.TCP, Port: 80}
		flow.Dst.Addr = addr("10.96.0.1")
		has := ""
		if b := s.Evaluate(flow).Balanced; b != nil {
			has = b.LoadBalancer.Origin.Name
		}
		require.Equal(t, step.has, has, step.name)
		var problems []string
		for _, p := range tr.Problems() {
			loser, _ := strings.CutPrefix(p.Ref.Path(), "Service/shop/")
			_, rest, _ := strings.Cut(p.Message, "belongs to Service/shop/")
			winner, _, _ := strings.Cut(rest, ",")
			problems = append(problems, loser+"<"+winner)
		}
		require.Equal(t, step.problems, strings.Join(problems, " "), step.name)
		require.Equal(t, step.wrote, written(t, was, s), step.name)
	}
}

// TestBackendsAreShared has frontends of one port and family point at one list, which stays where it was while it is as
// it was.
func TestBackendsAreShared(t *testing.T) {
	tr, s := start(t, newService(t, "web", 0, both), newSlice("w1", "web", "10.0.0.1", "10.0.0.2"))
	lb := s.LoadBalancer("Service/shop/web")
	require.Len(t, lb.Frontends, 6)
	pools := map[intent.Backends]int{}
	for i := range lb.Frontends {
		if list := lb.Frontends[i].Backends; list.Len() > 0 {
			pools[list]++
		}
	}
	require.Len(t, pools, 1, "IPv4 of the port without a name")
	require.Equal(t, 2, pools[lb.Frontends[0].Backends], "the cluster IP and the external IP")

	put(t, tr, newService(t, "web", 0, strings.Replace(both, "192.0.2.1", "192.0.2.2", 1)))
	now := tr.Snapshot().LoadBalancer("Service/shop/web")
	require.Len(t, map[intent.Backends]bool{lb.Frontends[0].Backends: true, now.Frontends[0].Backends: true}, 1)
}

// TestServiceProblemsGo has problems of Services, slices and nodes go with their cause.
func TestServiceProblemsGo(t *testing.T) {
	tr, _ := start(t, newService(t, "web", 0, `{clusterIP: x, ports: [{port: 80}]}`), newService(t, "db", 0, plain),
		newService(t, "later", 0, plain), newSlice("w1", "web", "y"), newSlice("d1", "db", "y"), newNode("n1", "z"))
	require.Len(t, tr.Problems(), 5, fmt.Sprint(tr.Problems()))
	put(t, tr, newService(t, "web", 0, other), newSlice("w1", "web", "10.0.0.1"), newNode("n1"))
	tr.Snapshot()
	require.Len(t, tr.Problems(), 2, fmt.Sprint(tr.Problems()))
	tr.Remove(object.KindService, "shop", "db")
	tr.Remove(object.KindEndpointSlice, "shop", "d1")
	tr.Snapshot()
	require.Empty(t, tr.Problems())

	put(t, tr, newService(t, "web", 0, `{clusterIP: x}`), newSlice("w1", "web", "y"))
	tr.Snapshot()
	require.Len(t, tr.Problems(), 2)
	tr.Remove(object.KindService, "shop", "web")
	put(t, tr, newSlice("w1", "", "y"))
	tr.Snapshot()
	require.Empty(t, tr.Problems())
}

// TestServicesInAnyOrder puts the objects of a crowded cluster in random orders, with snapshots in between.
func TestServicesInAnyOrder(t *testing.T) {
	seeds.Each(t, "services", func(t *testing.T, seed uint64) {
		c := policygen.Generate(seed, policygen.Size{Services: 20, Nodes: 3})
		var objects []any
		for _, o := range c.Services {
			objects = append(objects, o)
		}
		for _, o := range c.Slices {
			objects = append(objects, o)
		}
		for _, o := range c.Nodes {
			objects = append(objects, o)
		}
		rng := policygen.NewRand(seed)
		var want []string
		for round := range 10 {
			tr := translator.New(translator.Options{})
			for _, o := range objects {
				put(t, tr, o)
				if round > 0 && rng.IntN(3) == 0 {
					tr.Snapshot()
				}
			}
			got := dump(tr.Snapshot())
			for _, p := range tr.Problems() {
				got = append(got, p.Error())
			}
			if round == 0 {
				want = got
			}
			require.Equal(t, want, got, "seed %d round %d", seed, round)
			shuffle(rng, objects)
		}
	})
}

func shuffle[T any](rng *rand.Rand, list []T) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// TestEndpointChangeLooksAtOneService compares what one endpoint's change allocates with few Services and with many.
func TestEndpointChangeLooksAtOneService(t *testing.T) {
	few, many := endpointChange(t, 100), endpointChange(t, 10_000)
	cost := func(change func()) float64 { return testing.AllocsPerRun(200, change) }
	a, b := cost(few), cost(many)
	t.Logf("%v allocations with 100 Services, %v with 10000", a, b)
	require.LessOrEqual(t, b, 1.5*a)
}

// TestHeartbeatLooksAtNoService compares what a node that stays where it is allocates with few Services on node ports
// and with many.
func TestHeartbeatLooksAtNoService(t *testing.T) {
	cost := func(services int) float64 {
		tr, _ := start(t, newNode("n1", "172.18.0.1"))
		for i := range services {
			s := newService(t, fmt.Sprint("np-", i), 0, onNode)
			s.Spec.ClusterIP, s.Spec.Ports[0].NodePort = fmt.Sprint("10.96.1.", i), int32(30000+i)
			put(t, tr, s)
		}
		tr.Snapshot()
		return testing.AllocsPerRun(100, func() {
			put(t, tr, newNode("n1", "172.18.0.1"))
			tr.Snapshot()
		})
	}
	few, many := cost(2), cost(200)
	t.Logf("%v allocations with 2 Services, %v with 200", few, many)
	require.LessOrEqual(t, many, 1.5*few)
}

// TestNetworksShareNoClusterIP gives a Service in another network the addresses of others.
func TestNetworksShareNoClusterIP(t *testing.T) {
	tr, _ := start(t,
		newService(t, "dns", 2, `{clusterIP: 10.96.0.10, externalIPs: [192.0.2.1], ports: [{port: 53}]}`))
	thief := newService(t, "thief", 3, `{clusterIP: 10.96.0.9, externalIPs: [10.96.0.10, 192.0.2.1], ports: [{port: 53}]}`)
	thief.Annotations = map[string]string{service.NetworkAnnotation: "blue"}
	put(t, tr, thief)
	s := tr.Snapshot()
	front := func(network, at string) string {
		lb, _ := s.Frontend(network, intent.TCP, netip.AddrPortFrom(addr(at), 53))
		if lb == nil {
			return ""
		}
		return lb.Origin.Name
	}
	require.Equal(t, "dns", front("", "10.96.0.10"))
	require.Empty(t, front("blue", "10.96.0.10"))
	require.Equal(t, "dns", front("", "192.0.2.1"), "external addresses may be in several networks")
	require.Equal(t, "thief", front("blue", "192.0.2.1"))
	require.Len(t, tr.Problems(), 1)
	require.Contains(t, tr.Problems()[0].Error(), "tcp/10.96.0.10:53 belongs to Service/shop/dns, which takes precedence")

	// What was an external address becomes a cluster IP, and the other way round.
	put(t, tr, newService(t, "dns", 2, `{clusterIP: 192.0.2.1, externalIPs: [10.96.0.10], ports: [{port: 53}]}`))
	s = tr.Snapshot()
	require.Equal(t, "dns", front("", "192.0.2.1"))
	require.Empty(t, front("blue", "192.0.2.1"))
	require.Equal(t, "thief", front("blue", "10.96.0.10"))
}
