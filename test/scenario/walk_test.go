package scenario

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/inputs/clusters"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// walkSteps is how many states of a set of clusters are compared.
const walkSteps = 8

// TestWalksOverThreeClusters has three clusters change at random, each with a netloom and a database of its own: pods, namespaces,
// labels and policies change, clusters leave and join the sets of others, their API servers die, connections between clusters
// are lost, and processes restart. After each step the rows in each database are compared with the oracle.
func TestWalksOverThreeClusters(t *testing.T) {
	seeds.Each(t, "walks", func(t *testing.T, seed uint64) { newWalk(t, seed).run() })
}

// walk is a set of clusters on their way through random states.
type walk struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	members map[string]*member
	dead    map[string]bool                // clusters whose API server does not answer, so that nothing in them changes
	ever    map[string]map[netip.Addr]bool // by cluster: the addresses that its pods have had
}

// member is a cluster with its netloom and its database.
type member struct {
	*process

	name       string
	everywhere bool
	own        *oracle.Cluster
	fed        map[object.Ref]runtime.Object
	set        *clusters.Set
	links      map[string]*link // to the other clusters of its set
}

// link is how a netloom reads another cluster.
type link struct {
	source *pipelinetest.Source
	lost   bool
	read   map[object.Ref]runtime.Object // what was read last
}

func newWalk(t *testing.T, seed uint64) *walk {
	t.Helper()
	w := &walk{t: t, seed: seed, rng: policygen.NewRand(seed), members: map[string]*member{}, dead: map[string]bool{}, ever: map[string]map[netip.Addr]bool{}}
	for i, name := range []string{"a", "b", "c"} {
		own := policygen.Generate(seed+uint64(1000*i), policygen.Size{Cluster: 3})
		policygen.Move(own, w.rng, uint8(i))
		policygen.NameClusters(own, w.rng, []string{"a", "b", "c", "d"})
		s := &member{
			process: &process{target: ovntest.New(t, schema.NB2503())},
			name:    name, everywhere: (seed+uint64(i))%2 == 0, own: own,
		}
		w.members[name] = s
		s.begin(t)
		t.Cleanup(func() { require.NoError(t, s.backend.Close()) })
	}
	for _, s := range w.each() {
		for _, other := range w.each() {
			if s != other {
				s.join(t, other.name)
			}
		}
	}
	return w
}

// each lists the members in order.
func (w *walk) each() []*member {
	return []*member{w.members["a"], w.members["b"], w.members["c"]}
}

// begin starts a netloom that knows nothing.
func (s *member) begin(t *testing.T) {
	t.Helper()
	if s.backend != nil {
		require.NoError(t, s.backend.Close())
	}
	opts := translator.Options{Cluster: s.name, ClusterSet: field.LocalByDefault}
	if s.everywhere {
		opts.ClusterSet = field.SetByDefault
	}
	log := logrus.New()
	log.SetLevel(logrus.ErrorLevel)
	s.made, s.fed, s.links = translator.New(opts), nil, map[string]*link{}
	s.set = clusters.New(nil, 0, log)
	s.backend, s.reached = s.target.Open(t, owner), 0
}

// join adds another cluster to the set.
func (s *member) join(t *testing.T, name string) {
	t.Helper()
	l := &link{source: pipelinetest.New()}
	s.links[name] = l
	require.NoError(t, s.set.Join(clusters.Cluster{Name: name, Source: l.source}))
}

func (w *walk) run() {
	for step := range walkSteps {
		for _, s := range w.each() {
			w.remember(s)
		}
		for _, s := range w.each() {
			w.read(s)
			s.translateSet(w.t)
			s.reconcile(w.t)
			w.compare(s, step)
		}
		for range 1 + w.rng.IntN(4) {
			w.change()
		}
	}
}

// change changes one thing.
func (w *walk) change() {
	all := w.each()
	s, other := all[w.rng.IntN(3)], all[w.rng.IntN(3)]
	switch w.rng.IntN(10) {
	case 0:
		w.dead[s.name] = !w.dead[s.name]
	case 1:
		if l := s.links[other.name]; l != nil {
			l.lost = !l.lost
		}
	case 2:
		switch _, is := s.links[other.name]; {
		case s == other:
		case is:
			s.set.Leave(other.name)
			delete(s.links, other.name)
		default:
			s.join(w.t, other.name)
		}
	case 3:
		if !w.dead[s.name] { // without its own API server, it would wait
			names := slices.Sorted(maps.Keys(s.links))
			s.begin(w.t)
			for _, name := range names {
				s.join(w.t, name)
			}
		}
	case 4:
		w.overlap(s, other)
	default:
		if !w.dead[s.name] {
			policygen.Mutate(s.own, w.rng)
		}
	}
}

// overlap gives a pod of a cluster the address of a pod, of another one as a rule.
func (w *walk) overlap(s, other *member) {
	n, m := len(s.own.Pods), len(other.own.Pods)
	if n == 0 || m == 0 || w.dead[s.name] {
		return
	}
	i, from := w.rng.IntN(n), other.own.Pods[w.rng.IntN(m)]
	if p := s.own.Pods[i].DeepCopy(); !p.Spec.HostNetwork && !from.Spec.HostNetwork {
		p.Status.PodIP, p.Status.PodIPs = from.Status.PodIP, slices.Clone(from.Status.PodIPs)
		s.own.Pods[i] = p
	}
}

// read has a netloom read the clusters that it can reach.
func (w *walk) read(s *member) {
	for name, l := range s.links {
		if !l.lost && !w.dead[name] {
			l.deliver(w.members[name].own)
		}
	}
}

// deliver brings a source up to date with a cluster.
func (l *link) deliver(c *oracle.Cluster) {
	now := map[object.Ref]runtime.Object{}
	for _, p := range c.Pods {
		now[pipelinetest.RefOf(p)] = p.DeepCopy()
	}
	for _, n := range c.Namespaces {
		now[pipelinetest.RefOf(n)] = n.DeepCopy()
	}
	change(l.read, now, func(o runtime.Object) { l.source.Put(o) }, func(o runtime.Object) { l.source.Remove(o) })
	l.read = now
	l.source.Sync()
}

// change calls put for what is new or different, and remove for what is gone.
func change(was, now map[object.Ref]runtime.Object, put, remove func(runtime.Object)) {
	for ref, o := range now {
		if !reflect.DeepEqual(was[ref], o) {
			put(o)
		}
	}
	for ref, o := range was {
		if now[ref] == nil {
			remove(o)
		}
	}
}

// translateSet brings the translator up to date with the own cluster and what was read of the others.
func (s *member) translateSet(t *testing.T) {
	t.Helper()
	now := map[object.Ref]runtime.Object{}
	for _, o := range policygen.Objects(s.own) {
		now[pipelinetest.RefOf(o)] = o
	}
	s.set.Feed(s.made)
	change(s.fed, now, func(o runtime.Object) { require.NoError(t, s.made.Put(o)) }, func(o runtime.Object) {
		ref := pipelinetest.RefOf(o)
		s.made.Remove(ref.Kind, ref.Namespace, ref.Name)
	})
	s.fed = now
	s.made.Snapshot() // finds out which names are in use
	for _, name := range s.made.Hosts() {
		s.made.SetHost(name, s.own.Answers[name])
	}
	s.snapshot = s.made.Snapshot()
	s.target.Prepare(t, s.ports(), slices.Collect(s.snapshot.Nodes()))
}

// ports are the pods of the own cluster that need something in the database.
func (s *member) ports() []intent.Endpoint {
	var list []intent.Endpoint
	for _, p := range s.own.Pods {
		if p.Spec.HostNetwork || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		e := intent.Endpoint{Key: object.Key{Cluster: s.name, Namespace: p.Namespace, Name: p.Name}, Node: p.Spec.NodeName}
		for _, ip := range p.Status.PodIPs {
			if a, err := netip.ParseAddr(ip.IP); err == nil {
				e.Addrs = append(e.Addrs, a.Unmap())
			}
		}
		list = append(list, e)
	}
	return list
}

// known returns the set of clusters as the netloom of s last read it.
func (s *member) known() *oracle.Set {
	set := &oracle.Set{Own: s.name, Others: map[string]*oracle.Cluster{}, Everywhere: s.everywhere}
	for name, l := range s.links {
		c := &oracle.Cluster{}
		for _, o := range l.read {
			switch o := o.(type) {
			case *corev1.Pod:
				c.Pods = append(c.Pods, o)
			case *corev1.Namespace:
				c.Namespaces = append(c.Namespaces, o)
			}
		}
		set.Others[name] = c
	}
	return set
}

// remember records the addresses of a cluster's pods.
func (w *walk) remember(s *member) {
	if w.ever[s.name] == nil {
		w.ever[s.name] = map[netip.Addr]bool{}
	}
	for _, p := range s.own.Pods {
		for _, ip := range append(p.Status.PodIPs, corev1.PodIP{IP: p.Status.PodIP}) {
			if a, err := netip.ParseAddr(ip.IP); err == nil {
				w.ever[s.name][a.Unmap()] = true
			}
		}
	}
}

// foreign lists the addresses that pods of the other clusters have or have had. Those that pods of s have had are left out: without a
// pod, a target takes one that had the address for the end of a flow.
func (w *walk) foreign(s *member) []netip.Addr {
	out := map[netip.Addr]bool{}
	for name, addrs := range w.ever {
		for a := range addrs {
			if name != s.name && !w.ever[s.name][a] {
				out[a] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(out), netip.Addr.Compare)
}

// compare compares the rows in the database of s with the oracle.
func (w *walk) compare(s *member, step int) {
	w.t.Helper()
	s.own.Set = s.known()
	judge := s.own.Freeze()
	foreign := w.foreign(s)
	for _, f := range policygen.Probes(s.own, w.rng, 60) {
		if len(foreign) > 0 {
			switch at := (oracle.End{Addr: foreign[w.rng.IntN(len(foreign))]}); w.rng.IntN(3) {
			case 0:
				f.Src = at
			case 1:
				f.Dst = at
			}
		}
		if f.Src.Addr == f.Dst.Addr || f.Src.Addr.Is4() != f.Dst.Addr.Is4() {
			continue // it never reaches the network, or there is no such packet
		}
		flow := policygen.IntentFlow(f)
		for _, end := range []*object.Key{&flow.Src.Key, &flow.Dst.Key} {
			if *end != (object.Key{}) {
				end.Cluster = s.name
			}
		}
		want, got := judge.Allowed(f), s.target.Verdict(w.t, flow)
		if want.Allowed != got.Allowed {
			text, err := policygen.YAML(s.own)
			require.NoError(w.t, err)
			require.Failf(w.t, "wrong verdict", "seed %d step %d cluster %s: %+v\nthe oracle says %v %q, the rows %+v\n%s\nrows:\n%s",
				w.seed, step, s.name, f, want.Allowed, want.Why, got, text, s.target.Dump(w.t))
		}
	}
}
