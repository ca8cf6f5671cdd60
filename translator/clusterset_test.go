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

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// TestAgreesWithOracleAcrossClusters compares Snapshot.Evaluate with the oracle on random sets of three clusters, while all of
// them change, and clusters leave and join the set.
func TestAgreesWithOracleAcrossClusters(t *testing.T) {
	seeds.Each(t, "clustersets", func(t *testing.T, seed uint64) {
		s := newClusterSet(seed)
		tr := translator.New(s.options())
		s.feed(t, tr)
		for step := range 6 {
			when := fmt.Sprintf("seed %d step %d", seed, step)
			s.compare(t, when, tr)
			fresh := translator.New(s.options())
			(&clusterSet{own: s.own, others: s.others, order: s.order}).feed(t, fresh)
			require.Equal(t, dump(fresh.Snapshot()), dump(tr.Snapshot()), "%s: history shows", when)
			require.Equal(t, fresh.Problems(), tr.Problems(), when)
			s.change()
			s.feed(t, tr)
		}
	})
}

// clusterSet is a random set of clusters, the own one being a.
type clusterSet struct {
	own      *oracle.Cluster
	others   map[string]*oracle.Cluster // in the set; own.Set has the same
	away     map[string]*oracle.Cluster
	rng      *rand.Rand // for what there is
	order    *rand.Rand // for what comes first
	fed      map[key]any
	fedPeers map[string]map[key]any
}

func newClusterSet(seed uint64) *clusterSet {
	s := &clusterSet{
		own: policygen.Generate(seed, policygen.Size{Cluster: 4}), rng: policygen.NewRand(seed), order: newOrder(seed),
		others: map[string]*oracle.Cluster{}, away: map[string]*oracle.Cluster{},
	}
	for i, name := range []string{"b", "c"} {
		s.others[name] = policygen.Generate(seed+uint64(1000*(i+1)), policygen.Size{})
		policygen.Move(s.others[name], s.rng, uint8(i+1))
	}
	s.own.Set = &oracle.Set{Own: "a", Others: s.others, Everywhere: seed%2 == 0}
	policygen.NameClusters(s.own, s.rng, []string{"a", "b", "c", "d"})
	return s
}

func (s *clusterSet) options() translator.Options {
	opts := translator.Options{Cluster: "a", ClusterSet: field.LocalByDefault}
	if s.own.Set.Everywhere {
		opts.ClusterSet = field.SetByDefault
	}
	return opts
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
	for _, name := range slices.Sorted(maps.Keys(s.fedPeers)) {
		if s.others[name] == nil {
			tr.RemoveCluster(name)
			delete(s.fedPeers, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.others)) {
		now := map[key]any{}
		for k, o := range objectsOf(s.others[name]) {
			if k.kind == object.KindPod || k.kind == object.KindNamespace {
				now[k] = o
			}
		}
		for _, k := range shuffled(s.order, now) {
			if o := now[k]; !reflect.DeepEqual(s.fedPeers[name][k], o) {
				require.NoError(t, tr.PutOther(name, o))
			}
		}
		for _, k := range shuffled(s.order, s.fedPeers[name]) {
			if now[k] == nil {
				tr.RemoveOther(name, k.kind, k.namespace, k.name)
			}
		}
		s.fedPeers[name] = now
	}
	s.fed = feed(t, s.order, tr, s.fed, s.own)
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
