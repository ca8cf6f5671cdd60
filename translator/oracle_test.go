package translator_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// probesPerState is how many flows are judged in each state of a cluster.
const probesPerState = 300

// TestAgreesWithOracle compares Snapshot.Evaluate with the oracle on random clusters while they change, and the
// translator that lived through the changes with one that starts from scratch.
func TestAgreesWithOracle(t *testing.T) {
	seeds.Each(t, "translator", func(t *testing.T, seed uint64) {
		size := policygen.Size{Odd: seed%3 == 0}
		if seed%2 == 1 {
			size.Services, size.Nodes = 8, 3
		}
		if seed%4 < 3 {
			size.Cluster = 7
		}
		cluster := policygen.Generate(seed, size)
		rng, order := policygen.NewRand(seed), newOrder(seed)
		opts := translator.Options{PartsOnly: seed%5 < 2}
		tr := translator.New(opts)
		fed := feed(t, order, tr, nil, cluster)
		for step := range 6 {
			compare(t, fmt.Sprintf("seed %d step %d", seed, step), cluster, tr, rng)
			fresh := translator.New(opts)
			feed(t, order, fresh, nil, cluster)
			require.Equal(t, dump(fresh.Snapshot()), dump(tr.Snapshot()), "seed %d step %d: history shows", seed, step)
			require.Equal(t, fresh.Problems(), tr.Problems())
			policygen.Mutate(cluster, rng)
			fed = feed(t, order, tr, fed, cluster)
		}
	})
}

type key struct{ kind, namespace, name string }

// feed brings tr from the objects in before to those of the cluster, one after the other in some order, and returns those. It
// leaves alone what is as it was: only then is nothing looked at but what changed.
func feed(t *testing.T, order *rand.Rand, tr *translator.Translator, before map[key]any, c *oracle.Cluster) map[key]any {
	t.Helper()
	now := objectsOf(c)
	for _, k := range shuffled(order, now) {
		if o := now[k]; !reflect.DeepEqual(before[k], o) {
			require.NoError(t, tr.Put(o))
		}
	}
	for _, k := range shuffled(order, before) {
		if now[k] == nil {
			tr.Remove(k.kind, k.namespace, k.name)
		}
	}
	tr.Snapshot() // which names are looked up depends on it
	for _, name := range tr.Hosts() {
		tr.SetHost(name, c.Answers[name])
	}
	return now
}

// newOrder is what decides on the order of objects, apart from what makes them up.
func newOrder(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// shuffled lists the keys of objects, in an order of its own.
func shuffled(order *rand.Rand, objects map[key]any) []key {
	keys := slices.SortedFunc(maps.Keys(objects), func(a, b key) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	shuffle(order, keys)
	return keys
}

// objectsOf copies the objects of a cluster.
func objectsOf(c *oracle.Cluster) map[key]any {
	all := map[key]any{}
	for _, o := range c.Policies {
		all[key{object.KindNetworkPolicy, o.Namespace, o.Name}] = o.DeepCopy()
	}
	for _, o := range c.ClusterPolicies {
		all[key{object.KindClusterNetworkPolicy, "", o.Name}] = o.DeepCopy()
	}
	for _, o := range c.AdminPolicies {
		all[key{object.KindAdminNetworkPolicy, "", o.Name}] = o.DeepCopy()
	}
	for _, o := range c.BaselinePolicies {
		all[key{object.KindBaselineAdminNetworkPolicy, "", o.Name}] = o.DeepCopy()
	}
	for _, o := range c.Pods {
		all[key{object.KindPod, o.Namespace, o.Name}] = o.DeepCopy()
	}
	for _, o := range c.Nodes {
		all[key{object.KindNode, "", o.Name}] = o.DeepCopy()
	}
	for _, o := range c.Namespaces {
		all[key{object.KindNamespace, "", o.Name}] = o.DeepCopy()
	}
	for _, o := range c.Services {
		all[key{object.KindService, o.Namespace, o.Name}] = o.DeepCopy()
	}
	for _, o := range c.Slices {
		all[key{object.KindEndpointSlice, o.Namespace, o.Name}] = o.DeepCopy()
	}
	return all
}

func compare(t *testing.T, when string, c *oracle.Cluster, tr *translator.Translator, rng *rand.Rand) {
	t.Helper()
	frozen := c.Freeze()
	s, view := tr.Snapshot(), tr.View()
	for _, f := range policygen.Probes(c, rng, probesPerState) {
		flow := flowOf(f)
		if _, front := s.Frontend(flow.Network, flow.Protocol, netip.AddrPortFrom(flow.Dst.Addr, flow.Port)); front != nil {
			f = known(view, f)
			flow = flowOf(f)
		}
		want := frozen.Allowed(f)
		got := s.Evaluate(flow)
		if got.Allowed != want.Allowed || balanced(got) != served(want) {
			text, err := policygen.YAML(c)
			require.NoError(t, err)
			require.Failf(t, "wrong verdict", "%s: %+v\noracle: %v %s %s\nintents: %+v %s\n%s",
				when, f, want.Allowed, served(want), strings.Join(want.Why, "; "), got, balanced(got), text)
		}
	}
}

// known adds the sender of a flow and its node, as far as the label cache knows them: a flow to a frontend depends on
// whether it comes from an endpoint, and from which node, and an intent.Flow has to say so.
func known(view labelcache.View, f oracle.Flow) oracle.Flow {
	var sender *labelcache.Endpoint
	for e := range view.Endpoints() {
		named := f.Src.Pod == e.Key.String()
		if named || sender == nil && slices.Contains(e.Addrs, f.Src.Addr) {
			sender = e
		}
		if named {
			break
		}
	}
	f.Src.Pod = ""
	if sender != nil {
		f.Src.Pod = sender.Key.String()
		f.Node = cmp.Or(f.Node, sender.Node)
	}
	return f
}

// balanced formats the result of a flow to a frontend.
func balanced(v intent.Verdict) string {
	b := v.Balanced
	if b == nil {
		return ""
	}
	text := b.LoadBalancer.Origin.Namespace + "/" + b.LoadBalancer.Origin.Name
	switch b.Outcome {
	case intent.Refused:
		return text + " refused"
	case intent.Unserved, intent.Barred:
		return text + " dropped"
	case intent.SentOn:
	}
	for _, c := range b.Choices {
		text += fmt.Sprintf(" %s egress=%v ingress=%v", c.Backend.AddrPort(), c.Egress.Allowed, c.Ingress.Allowed)
	}
	return text
}

// served formats the same of the oracle.
func served(v oracle.Verdict) string {
	switch {
	case v.Service == "":
		return ""
	case v.Refused:
		return v.Service + " refused"
	case len(v.Backends) == 0:
		return v.Service + " dropped"
	}
	text := v.Service
	for _, b := range v.Backends {
		at := netip.AddrPortFrom(b.Addr, uint16(b.Port))
		text += fmt.Sprintf(" %s egress=%v ingress=%v", at, b.EgressAllowed, b.IngressAllowed)
	}
	return text
}

func flowOf(f oracle.Flow) intent.Flow {
	protocols := map[corev1.Protocol]intent.Protocol{
		corev1.ProtocolTCP: intent.TCP, corev1.ProtocolUDP: intent.UDP, corev1.ProtocolSCTP: intent.SCTP,
		oracle.ICMP: intent.ICMP,
	}
	return intent.Flow{
		Src: partyOf(f.Src), Dst: partyOf(f.Dst), Protocol: protocols[f.Protocol],
		Port: uint16(f.Port), Node: f.Node, Network: f.Network,
	}
}

func partyOf(e oracle.End) intent.Party {
	p := intent.Party{Addr: e.Addr}
	if ns, name, ok := strings.Cut(e.Pod, "/"); ok {
		p.Key = object.Key{Namespace: ns, Name: name}
	}
	return p
}

// dump formats the content of a snapshot, without its revision.
func dump(s *intent.Snapshot) []string {
	var lines []string
	for set := range s.Sets() {
		var members []string
		if set.Members != nil {
			for e := range set.Members.All() {
				members = append(members, e.Key.String())
			}
		}
		slices.Sort(members)
		lines = append(lines, strings.Join([]string{
			string(set.ID), set.Title, strings.Join(members, " "), spell(set.Addrs()), spell(set.Prefixes), spell(set.Within),
		}, "|"))
	}
	for p := range s.Policies() {
		lines = append(lines, spell([]intent.Policy{*p}))
	}
	for n := range s.Nodes() {
		lines = append(lines, nodeText(n))
	}
	for lb := range s.LoadBalancers() {
		lines = append(lines, spell([]intent.LoadBalancer{*lb}))
	}
	return lines
}
