package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/registry"
)

// aged is a cluster of an age in seconds.
func aged(name string, second int64, ca *authority) *v1alpha1.UpstreamCluster {
	c := cluster(name, ca)
	c.CreationTimestamp = metav1.Unix(1000+second, 0)
	return c
}

// TestTheOldestClustersHaveThePlaces puts and deletes clusters in a random order. As its source does, it puts a cluster again whose place has
// become free.
func TestTheOldestClustersHaveThePlaces(t *testing.T) {
	const limit = 3
	ca := newAuthority(t)
	all := []*v1alpha1.UpstreamCluster{
		aged("e", 1, ca), aged("d", 2, ca), aged("b", 3, ca), aged("c", 3, ca), aged("a", 4, ca), aged("f", 5, ca),
	}
	rng := rand.New(rand.NewPCG(28, 1))
	log, _ := logtest.NewNullLogger()
	g := gateway.New(t.Context(), gateway.Options{Log: log, Clusters: limit})
	s := g.Clusters()
	there := map[string]bool{}
	for range 300 {
		if c := all[rng.IntN(len(all))]; there[c.Name] && rng.IntN(2) == 0 {
			s.Delete(c.Name)
			delete(there, c.Name)
		} else {
			err := s.Put(c)
			there[c.Name] = true
			require.Equal(t, s.Beyond(c.Name), err != nil)
			if err != nil {
				require.ErrorIs(t, err, registry.ErrBeyond)
			}
		}
		var want, served []string
		for _, c := range all {
			if there[c.Name] && len(want) < limit {
				want = append(want, c.Name)
			}
			if !there[c.Name] || s.Beyond(c.Name) {
				continue
			}
			require.NoError(t, s.Put(c), "its place is free")
			served = append(served, c.Name)
		}
		require.Equal(t, want, served)
	}
}

// TestClustersBeyondTheLimitAreTold has one more cluster than there are places for, and then two less.
func TestClustersBeyondTheLimitAreTold(t *testing.T) {
	ca := newAuthority(t)
	registerer := prometheus.NewRegistry()
	r := newRig(t, func(o *gateway.Options) { o.Clusters, o.Registerer = 2, registerer })
	s := r.gateway.Clusters()
	for i, name := range []string{"new.example", "old.example", "older.example"} {
		_ = s.Put(aged(name, int64(3-i), ca))
	}
	require.Contains(t, r.readyz(), "1 clusters are not served: older ones take all 2 places")
	require.InDelta(t, 1, sumOf(t, registerer, "netloom_gateway_clusters_beyond_limit"), 0)
	require.ErrorContains(t, s.Put(aged("new.example", 3, ca)), "there are 3 clusters, and the gateway serves the 2 oldest (gateway-max-clusters)")
	s.Reject("new.example", fmt.Errorf("%w: in two files", registry.ErrDuplicate))
	require.Contains(t, r.readyz(), "cluster new.example: it is defined more than once")
	require.True(t, s.Beyond("new.example"), "it waits for a place nevertheless")
	s.Delete("old.example")
	require.NoError(t, s.Put(aged("new.example", 3, ca)))
	s.Delete("older.example")
	require.NotContains(t, r.readyz(), "not served")
	s.Reject("faulty.example", fmt.Errorf("it has faults"))
	require.NoError(t, s.Put(aged("other.example", 4, ca)), "what cannot be served has no place")
}
