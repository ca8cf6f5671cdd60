package translator_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
)

var (
	seedFlag = flag.Uint64("translator.seed", 0, "repeat the run of this seed; 0 takes a new one")
	clusters = flag.Int("translator.clusters", 60, "how many random clusters are compared with the oracle")
)

// probesPerState is how many flows are judged in each state of a cluster.
const probesPerState = 300

// TestAgreesWithOracle compares Snapshot.Evaluate with the oracle on random clusters while they change, and the
// translator that lived through the changes with one that starts from scratch.
func TestAgreesWithOracle(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -translator.seed=%d", seed)
	for i := range uint64(*clusters) {
		cluster := policygen.Generate(seed+i, policygen.Size{Odd: i%3 == 0})
		rng := policygen.NewRand(seed + i)
		tr := translator.New(translator.Options{})
		known := feed(t, tr, nil, cluster)
		for step := range 6 {
			compare(t, seed+i, step, cluster, tr.Snapshot(), rng)
			fresh := translator.New(translator.Options{})
			feed(t, fresh, nil, cluster)
			require.Equal(t, dump(fresh.Snapshot()), dump(tr.Snapshot()), "seed %d step %d: history shows", seed+i, step)
			require.Equal(t, fresh.Problems(), tr.Problems())
			policygen.Mutate(cluster, rng)
			known = feed(t, tr, known, cluster)
		}
	}
}

type key struct{ kind, namespace, name string }

// feed brings tr from the objects in known to those of the cluster, and returns those.
func feed(t *testing.T, tr *translator.Translator, known map[key]bool, c *oracle.Cluster) map[key]bool {
	t.Helper()
	now := map[key]bool{}
	put := func(kind, namespace, name string, object any) {
		now[key{kind, namespace, name}] = true
		require.NoError(t, tr.Put(object))
	}
	for _, o := range c.Policies {
		put(translator.KindNetworkPolicy, o.Namespace, o.Name, o.DeepCopy())
	}
	for _, o := range c.Pods {
		put(translator.KindPod, o.Namespace, o.Name, o.DeepCopy())
	}
	for _, o := range c.Nodes {
		put(translator.KindNode, "", o.Name, o.DeepCopy())
	}
	for _, o := range c.Namespaces {
		put(translator.KindNamespace, "", o.Name, o.DeepCopy())
	}
	for k := range known {
		if !now[k] {
			tr.Remove(k.kind, k.namespace, k.name)
		}
	}
	return now
}

func compare(t *testing.T, seed uint64, step int, c *oracle.Cluster, s *intent.Snapshot, rng *rand.Rand) {
	t.Helper()
	frozen := c.Freeze()
	for _, f := range policygen.Probes(c, rng, probesPerState) {
		want := frozen.Allowed(f)
		got := s.Evaluate(flowOf(f))
		if got.Allowed != want.Allowed {
			text, err := policygen.YAML(c)
			require.NoError(t, err)
			require.Failf(t, "wrong verdict", "seed %d step %d: %+v\noracle: %v %s\nintents: %+v\n%s",
				seed, step, f, want.Allowed, strings.Join(want.Why, "; "), got, text)
		}
	}
}

func flowOf(f oracle.Flow) intent.Flow {
	protocols := map[corev1.Protocol]intent.Protocol{
		corev1.ProtocolTCP: intent.TCP, corev1.ProtocolUDP: intent.UDP, corev1.ProtocolSCTP: intent.SCTP,
		oracle.ICMP: intent.ICMP,
	}
	return intent.Flow{
		Src: partyOf(f.Src), Dst: partyOf(f.Dst), Protocol: protocols[f.Protocol],
		Port: uint16(f.Port),
	}
}

func partyOf(e oracle.End) intent.Party {
	p := intent.Party{Addr: e.Addr}
	if ns, name, ok := strings.Cut(e.Pod, "/"); ok {
		p.Key = intent.Key{Namespace: ns, Name: name}
	}
	return p
}

// dump spells all that a snapshot says, without its revision.
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
