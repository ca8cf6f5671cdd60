package reach_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// translate returns the snapshot of a cluster.
func translate(t testing.TB, c *oracle.Cluster) *intent.Snapshot {
	t.Helper()
	tr := translator.New(translator.Options{})
	for _, o := range policygen.Objects(c) {
		require.NoError(t, tr.Put(o))
	}
	tr.Snapshot() // which names are looked up depends on it
	for _, name := range tr.Hosts() {
		tr.SetHost(name, c.Answers[name])
	}
	return tr.Snapshot()
}

// placesOf are the pods' addresses of a cluster, and everything outside that snapshots distinguish.
func placesOf(c *oracle.Cluster, snapshots ...*intent.Snapshot) []reach.Place {
	var endpoints []intent.Endpoint
	taken := map[netip.Addr]bool{}
	for _, p := range c.Pods {
		if p.Spec.HostNetwork || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		e := intent.Endpoint{Key: object.Key{Namespace: p.Namespace, Name: p.Name}}
		for _, ip := range p.Status.PodIPs {
			if a := netip.MustParseAddr(ip.IP); !taken[a] {
				taken[a] = true
				e.Addrs = append(e.Addrs, a)
			}
		}
		endpoints = append(endpoints, e)
	}
	outside := reach.Outside(func(a netip.Addr) bool { return taken[a] }, snapshots...)
	return append(reach.PlacesOf(endpoints), outside...)
}

// ports are those at which rules may begin and end.
func ports() []uint16 {
	return []uint16{0, 1, 52, 53, 54, 79, 80, 81, 82, 443, 8000, 8080, 8081, 9000, 30000, 65535}
}

func TestTrafficIsWhatEvaluateSays(t *testing.T) {
	seeds.Each(t, "traffic", func(t *testing.T, seed uint64) {
		c := policygen.Generate(seed, policygen.Size{Cluster: int(seed%2) * 8})
		s := translate(t, c)
		classes := reach.Classify(placesOf(c, s), s)
		for _, from := range classes {
			for _, to := range classes {
				compare(t, seed, s, from, to, policygen.NewRand(seed))
			}
		}
	})
}

// compare judges any two places of two classes.
func compare(t *testing.T, seed uint64, s *intent.Snapshot, from, to *reach.Class, rng *rand.Rand) {
	t.Helper()
	src, dst := from.Places[rng.IntN(len(from.Places))], to.Places[rng.IntN(len(to.Places))]
	if src == dst || from.Family != to.Family {
		require.True(t, from.Family == to.Family || from.Traffic(0, to).Empty())
		return
	}
	traffic := from.Traffic(0, to)
	for _, proto := range []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP, intent.ICMP} {
		for _, port := range ports() {
			want := s.Evaluate(intent.Flow{Src: src.Party, Dst: dst.Party, Protocol: proto, Port: port}).Allowed
			require.Equal(t, want, traffic.Has(proto, port), "seed %d: %s -> %s %s/%d: %s", seed, src, dst, proto, port, traffic)
		}
	}
}

// endOf is a place in the words of the oracle.
func endOf(p reach.Place) oracle.End {
	e := oracle.End{Addr: p.Party.Addr}
	if p.Party.Key != (object.Key{}) {
		e.Pod = p.Party.Key.Namespace + "/" + p.Party.Key.Name
	}
	return e
}

// edited is a random cluster before and after a random edit, with the places that are in both, and the generator of the edit.
func edited(t *testing.T, seed uint64) (before, after *oracle.Cluster, was, is *intent.Snapshot, places []reach.Place, rng *rand.Rand) {
	t.Helper()
	before, rng = policygen.Generate(seed, policygen.Size{Cluster: int(seed%2) * 8}), policygen.NewRand(seed)
	was, after = translate(t, before), cloneOf(before)
	policygen.Mutate(after, rng)
	is = translate(t, after)
	later := placesOf(after, was, is)
	places = slices.DeleteFunc(placesOf(before, was, is), func(p reach.Place) bool { return !slices.Contains(later, p) })
	return before, after, was, is, places, rng
}

// TestImpactIsTheDifference compares with what the oracle says before and after a change.
func TestImpactIsTheDifference(t *testing.T) {
	changed := 0
	seeds.Each(t, "difference", func(t *testing.T, seed uint64) {
		c, changedTo, before, after, places, rng := edited(t, seed)
		judgeBefore, judgeAfter := c.Freeze(), changedTo.Freeze()
		opened, closed := map[pair]reach.Traffic{}, map[pair]reach.Traffic{}
		for _, change := range reach.Impact(before, after, places, nil) {
			changed++
			for from, to := range change.Pairs() {
				opened[pair{from, to}], closed[pair{from, to}] = change.Opened, change.Closed
			}
		}
		for range 1000 {
			src, dst := places[rng.IntN(len(places))], places[rng.IntN(len(places))]
			if src == dst || src.Party.Addr.Is4() != dst.Party.Addr.Is4() || src.Standing.IsValid() && dst.Standing.IsValid() {
				continue
			}
			port := ports()[rng.IntN(len(ports()))]
			proto := []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP}[rng.IntN(3)]
			f := oracle.Flow{
				Src: endOf(src), Dst: endOf(dst), Protocol: corev1.Protocol(strings.ToUpper(proto.String())), Port: int32(port),
			}
			was, is := judgeBefore.Allowed(f).Allowed, judgeAfter.Allowed(f).Allowed
			require.Equal(t, !was && is, opened[pair{src, dst}].Has(proto, port), "seed %d: %+v opens", seed, f)
			require.Equal(t, was && !is, closed[pair{src, dst}].Has(proto, port), "seed %d: %+v closes", seed, f)
		}
	})
	if seeds.All() {
		require.Greater(t, changed, 20, "few edits had an effect: the test shows little")
	}
}
