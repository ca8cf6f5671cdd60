//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
)

// The flood of TestDrillFlood: policies of 16 KB with about 17,500 prefixes each, just within the budget of one object.
const (
	floodPolicies = 1000
	floodExcepts  = 780
	floodSamples  = 150 // of policies of others
)

// TestDrillFlood has one tenant create as many policies as expensive as the budget of one object allows, while others create
// policies of their own. What is beyond the budget of the namespace isolates what it selects; the others hardly notice, and a restart
// is as it was before. Memory is judged, times are printed: those beside the flood, beside as much that concerns the API server alone, and alone.
func TestDrillFlood(t *testing.T) {
	t.Parallel()
	s := newScale(t, []string{"ACL"}, []string{"Address_Set", "Port_Group"}) // what is measured must not wait until this process has read the flood
	s.start()
	s.fill()
	stop := s.times.watch(t, s.kube)
	defer stop()
	alone := s.paced("a new policy, alone", 0, func() bool { return false })

	_, err := s.load.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}, metav1.CreateOptions{})
	require.NoError(t, err)
	loaded := s.pacedBesideConfigMaps(floodSamples)
	began, spent := time.Now(), [2]float64{cpuOf(t, s.netloom.PID()), cpuOf(t, s.db.PID())}
	var told atomic.Int64
	var over atomic.Bool
	var flood sync.WaitGroup
	flood.Go(func() {
		defer over.Store(true)
		s.flood()
		s.awaitEnforced()
	})
	flood.Go(func() {
		s.awaitProblems(1)
		told.Store(int64(time.Since(began)))
	})
	flood.Go(func() { s.profileCPU("flood", 4) })
	beside := s.paced("a new policy, beside the flood", 10*floodSamples, func() bool { return !over.Load() })
	flood.Wait()
	t.Logf("until everything was in force, %.1f s: netloom took %.1f s of a core, ovsdb-server %.1f s", time.Since(began).Seconds(),
		cpuOf(t, s.netloom.PID())-spent[0], cpuOf(t, s.db.PID())-spent[1])
	s.awaitProblems(floodPolicies / 2)
	problems, err := s.netloom.Get("/debug/problems")
	require.NoError(t, err)
	require.Contains(t, problems, "the policies of namespace "+tenant+" exceed their budget")
	require.NotContains(t, problems, "namespace "+s.load.cluster.Policies[0].Namespace+" exceed")
	require.Less(t, peakOf(s.netloom.PID()), s.limit)
	reportDrill(t, s.netloom.PID(), fmt.Sprintf("a tenant creates %d policies with 17,500 prefixes each", floodPolicies), "nothing: what is refused isolates",
		fmt.Sprintf("%v, beside ConfigMaps %v, alone %v", p99(beside), p99(loaded), p99(alone)),
		fmt.Sprintf("after %.1f s: a problem of the budget, with its use and the largest policy, and of each policy refused; ovsdb-server has %s",
			time.Duration(told.Load()).Seconds(), mib(s.db.RSS())))

	s.netloom.Stop()
	rows := s.times.seen()
	s.netloom.Restart()
	s.awaitWriter()
	require.Less(t, peakOf(s.netloom.PID()), s.limit)
	require.Equal(t, rows, s.times.seen(), "rows that a restart has changed")
}

// paced creates one policy of others after the other, a fixed number and for as long as more returns true, and returns how long
// each took to be in force.
func (s *scale) paced(kind string, first int, more func() bool) []time.Duration {
	s.t.Helper()
	for i := 0; i < floodSamples || more(); i++ {
		s.load.addPolicyAs(s.t, s.times, kind, first+i)
		time.Sleep(20 * time.Millisecond) // pause: between the requests of others
	}
	s.times.await(s.t, s.netloom, kind)
	s.awaitDelivered(kind)
	var took []time.Duration
	for _, c := range s.times.of(kind) {
		took = append(took, c.committed.Sub(c.watched))
	}
	return took
}

// pacedBesideConfigMaps is paced while the tenant creates as many ConfigMaps of the same size, which do not concern netloom: what the API server
// costs on this machine.
func (s *scale) pacedBesideConfigMaps(first int) []time.Duration {
	s.t.Helper()
	var over atomic.Bool
	var flood sync.WaitGroup
	flood.Go(func() {
		defer over.Store(true)
		s.load.each(s.t, floodPolicies, func(i int) {
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("flood-%04d", i)}, Data: map[string]string{"excepts": strings.Repeat("192.168.123.234/32\n", floodExcepts)}}
			if _, err := s.load.client.CoreV1().ConfigMaps(tenant).Create(s.t.Context(), m, metav1.CreateOptions{}); err != nil {
				s.t.Error(err)
			}
		})
	})
	defer flood.Wait()
	return s.paced("a new policy, beside ConfigMaps", first, func() bool { return !over.Load() })
}

func p99(all []time.Duration) time.Duration { return quantile(all, 0.99).Round(time.Millisecond / 10) }

// flood creates the policies of the tenant, several at once.
func (s *scale) flood() {
	s.load.each(s.t, floodPolicies, func(i int) {
		p := blockPolicy(fmt.Sprintf("flood-%04d", i), "0.0.0.0/0", floodExcepts, func(k int) netip.Prefix {
			h := uint32(i*floodExcepts+k) * 2654435761
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(h>>24) | 1, byte(h >> 16), byte(h >> 8), byte(h)}), 32)
		})
		if _, err := s.load.client.NetworkingV1().NetworkPolicies(tenant).Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
			s.t.Error(err)
		}
	})
}

// awaitEnforced waits until the oldest change is in force.
func (s *scale) awaitEnforced() {
	await.True(s.t, func() bool {
		text, err := s.netloom.Get("/metrics")
		return err == nil && strings.Contains(text, "netloom_oldest_unenforced_change_seconds 0\n")
	}, "everything is in force")
}

// awaitDelivered waits until a plain watch has had every change of a kind, too.
func (s *scale) awaitDelivered(kind string) {
	await.True(s.t, func() bool {
		return !slices.ContainsFunc(s.times.of(kind), func(c *change) bool { return !s.times.delivered(c) })
	}, "the events of every change")
}
