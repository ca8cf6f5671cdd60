//go:build e2e

package e2ekube_test

import (
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/bench/figures"
)

const (
	kindDeletion = "a deletion"
	kindCreation = "a creation"
)

// deletions deletes policies, one after the other, and creates them again.
func (s *sizing) deletions() {
	s.t.Helper()
	stop := s.times.watch(s.t, s.kube)
	defer stop()
	n := min(*flipsFlag, len(s.load.cluster.Policies))
	begin := func(kind string, i int, request func(i int) error) *change {
		p := s.load.cluster.Policies[i]
		c, done := s.times.follow(kind, p.Namespace+"/"+p.Name, anyRow)
		require.NoError(s.t, request(i))
		done("")
		return c
	}
	gone := s.measure(n, func(i int) *change {
		return begin(kindDeletion, i, func(i int) error {
			p := s.load.cluster.Policies[i]
			return s.load.client.NetworkingV1().NetworkPolicies(p.Namespace).Delete(s.t.Context(), p.Name, metav1.DeleteOptions{})
		})
	})
	s.awaitEvents(gone)
	back := s.measure(len(gone.changes), func(i int) *change {
		return begin(kindCreation, i, func(i int) error {
			p := s.load.cluster.Policies[i]
			_, err := s.load.client.NetworkingV1().NetworkPolicies(p.Namespace).Create(s.t.Context(), p, metav1.CreateOptions{})
			return err
		})
	})
	s.awaitEvents(back)
	s.awaitNothingToDo()
	beyond := func(one *change) time.Duration { return one.committed.Sub(one.watched) }
	for _, of := range []struct {
		name string
		*cost
	}{{figures.Gone, gone}, {"a policy is created", back}} {
		s.add(&figures.Figure{
			Name: of.name + ": beyond the event, p50", Measured: inMillis(of.median(beyond)), Unit: "ms", Spread: of.spread(beyond),
			Meaning: "until the first row, p99 " + millis(of.quantile(0.99, beyond)),
		})
		s.add(&figures.Figure{Name: "… rows, median", Measured: float64(of.rows[len(of.rows)/2])})
	}
}
