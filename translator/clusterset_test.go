package translator_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// TestAgreesWithOracleAcrossClusters compares Snapshot.Evaluate with the oracle on random sets of three clusters, while all of
// them change, and clusters leave and join the set.
func TestAgreesWithOracleAcrossClusters(t *testing.T) {
	seed := *seedFlag
	t.Logf("repeat with -translator.seed=%d", seed)
	for i := range uint64(max(*clusters/3, 1)) {
		s := newClusterSet(seed + i)
		tr := translator.New(s.options())
		s.feed(t, tr)
		for step := range 6 {
			when := fmt.Sprintf("seed %d step %d", seed+i, step)
			s.compare(t, when, tr)
			fresh := translator.New(s.options())
			(&clusterSet{own: s.own, others: s.others}).feed(t, fresh)
			require.Equal(t, dump(fresh.Snapshot()), dump(tr.Snapshot()), "%s: history shows", when)
			require.Equal(t, fresh.Problems(), tr.Problems(), when)
			s.change()
			s.feed(t, tr)
		}
	}
}

// clusterSet is a random set of clusters, the own one being a.
type clusterSet struct {
	own      *oracle.Cluster
	others   map[string]*oracle.Cluster // in the set; own.Set has the same
	away     map[string]*oracle.Cluster
	rng      *rand.Rand
	fed      map[key]any
	fedPeers map[string]map[key]any
}

func newClusterSet(seed uint64) *clusterSet {
	s := &clusterSet{
		own: policygen.Generate(seed, policygen.Size{Cluster: 4}), rng: policygen.NewRand(seed),
		others: map[string]*oracle.Cluster{}, away: map[string]*oracle.Cluster{},
	}
	for i, name := range []string{"b", "c"} {
		s.others[name] = policygen.Generate(seed+uint64(1000*(i+1)), policygen.Size{})
		s.move(s.others[name], i+1)
	}
	s.own.Set = &oracle.Set{Own: "a", Others: s.others, Everywhere: seed%2 == 0}
	s.nameClusters()
	return s
}

func (s *clusterSet) options() translator.Options {
	opts := translator.Options{Cluster: "a", ClusterSet: field.LocalByDefault}
	if s.own.Set.Everywhere {
		opts.ClusterSet = field.SetByDefault
	}
	return opts
}

// move gives most pods of a cluster addresses that no other cluster has.
func (s *clusterSet) move(c *oracle.Cluster, by int) {
	for _, p := range c.Pods {
		if s.rng.IntN(10) == 0 {
			continue
		}
		p.Status.PodIP = moved(p.Status.PodIP, by)
		for i := range p.Status.PodIPs {
			p.Status.PodIPs[i].IP = moved(p.Status.PodIPs[i].IP, by)
		}
	}
}

func moved(text string, by int) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Is4In6() {
		return text
	}
	raw := a.AsSlice()
	if raw[1] == 244 || a.Is6() {
		raw[1] = byte(100 + by)
	}
	a, _ = netip.AddrFromSlice(raw)
	return a.String()
}

// nameClusters makes some selectors of policies name clusters.
func (s *clusterSet) nameClusters() {
	for _, p := range s.own.Policies {
		s.nameIn(&p.Spec.PodSelector, 12)
		for i := range p.Spec.Ingress {
			s.namePeers(p.Spec.Ingress[i].From)
		}
		for i := range p.Spec.Egress {
			s.namePeers(p.Spec.Egress[i].To)
		}
	}
	for _, p := range s.own.ClusterPolicies {
		s.nameIn(p.Spec.Subject.Namespaces, 8)
		for i := range p.Spec.Ingress {
			for j := range p.Spec.Ingress[i].From {
				s.nameIn(p.Spec.Ingress[i].From[j].Namespaces, 2)
				s.namePods(p.Spec.Ingress[i].From[j].Pods)
			}
		}
		for i := range p.Spec.Egress {
			for j := range p.Spec.Egress[i].To {
				s.nameIn(p.Spec.Egress[i].To[j].Namespaces, 2)
				s.namePods(p.Spec.Egress[i].To[j].Pods)
			}
		}
	}
}

func (s *clusterSet) namePods(p *v1alpha2.NamespacedPod) {
	if p != nil {
		s.nameIn(&p.NamespaceSelector, 3)
		s.nameIn(&p.PodSelector, 3)
	}
}

func (s *clusterSet) namePeers(peers []networkingv1.NetworkPolicyPeer) {
	for i := range peers {
		s.nameIn(peers[i].NamespaceSelector, 3)
		s.nameIn(peers[i].PodSelector, 3)
	}
}

// nameIn adds a requirement to one of n selectors.
func (s *clusterSet) nameIn(ls *metav1.LabelSelector, n int) {
	if ls == nil || s.rng.IntN(n) != 0 {
		return
	}
	all := []string{"a", "b", "c", "d"}
	one := all[s.rng.IntN(len(all))]
	var r metav1.LabelSelectorRequirement
	switch s.rng.IntN(5) {
	case 0:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpNotIn, Values: []string{one}}
	case 1:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpExists}
	case 2:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpIn, Values: []string{one, all[s.rng.IntN(len(all))]}}
	case 3:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpDoesNotExist}
	default:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpIn, Values: []string{one}}
	}
	r.Key = field.LabelCluster
	ls.MatchExpressions = append(ls.MatchExpressions, r)
}

// change changes one of the clusters, or which of them are in the set.
func (s *clusterSet) change() {
	switch s.rng.IntN(6) {
	case 0:
		policygen.Mutate(s.own, s.rng)
	case 1, 2, 3:
		for _, name := range slices.Sorted(maps.Keys(s.others)) {
			policygen.Mutate(s.others[name], s.rng)
		}
	case 4:
		if names := slices.Sorted(maps.Keys(s.others)); len(names) > 0 {
			s.away[names[0]] = s.others[names[0]]
			delete(s.others, names[0])
		}
	default:
		maps.Copy(s.others, s.away)
		clear(s.away)
	}
}

// feed brings tr to the state of the set.
func (s *clusterSet) feed(t *testing.T, tr *translator.Translator) {
	t.Helper()
	if s.fedPeers == nil {
		s.fedPeers = map[string]map[key]any{}
	}
	for name := range s.fedPeers {
		if s.others[name] == nil {
			tr.RemoveCluster(name)
			delete(s.fedPeers, name)
		}
	}
	for name, c := range s.others {
		now := map[key]any{}
		for k, o := range objectsOf(c) {
			if k.kind == object.KindPod || k.kind == object.KindNamespace {
				now[k] = o
			}
		}
		for k, o := range now {
			if !reflect.DeepEqual(s.fedPeers[name][k], o) {
				require.NoError(t, tr.PutPeer(name, o))
			}
		}
		for k := range s.fedPeers[name] {
			if now[k] == nil {
				tr.RemovePeer(name, k.kind, k.namespace, k.name)
			}
		}
		s.fedPeers[name] = now
	}
	s.fed = feed(t, tr, s.fed, s.own)
}

func (s *clusterSet) compare(t *testing.T, when string, tr *translator.Translator) {
	t.Helper()
	frozen, snapshot := s.own.Freeze(), tr.Snapshot()
	foreign := s.foreignAddrs()
	for _, f := range policygen.Probes(s.own, s.rng, probesPerState) {
		if len(foreign) > 0 {
			switch at := (oracle.End{Addr: foreign[s.rng.IntN(len(foreign))]}); s.rng.IntN(3) {
			case 0:
				f.Src = at
			case 1:
				f.Dst = at
			}
		}
		flow := flowOf(f)
		for _, p := range []*object.Key{&flow.Src.Key, &flow.Dst.Key} {
			if *p != (object.Key{}) {
				p.Cluster = "a"
			}
		}
		want, got := frozen.Allowed(f), snapshot.Evaluate(flow)
		if got.Allowed != want.Allowed {
			text, err := policygen.YAML(s.own)
			require.NoError(t, err)
			require.Failf(t, "wrong verdict", "%s: %+v\noracle: %v %v\nintents: %+v\n%s", when, f, want.Allowed, want.Why, got, text)
		}
	}
}

func (s *clusterSet) foreignAddrs() []netip.Addr {
	var out []netip.Addr
	for _, name := range []string{"b", "c"} {
		c := s.others[name]
		if c == nil {
			c = s.away[name]
		}
		for _, p := range c.Pods {
			if a, err := netip.ParseAddr(p.Status.PodIP); err == nil {
				out = append(out, a)
			}
		}
	}
	return out
}
