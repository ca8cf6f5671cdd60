package translator_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
)

// TestAServiceGrowsWithItsSourceRanges has as many ports as ranges, and changes one endpoint.
func TestAServiceGrowsWithItsSourceRanges(t *testing.T) {
	growth.NearlyLinear(t, 500, func(n int) func() {
		s := newService(t, "web", 1, `{type: LoadBalancer, clusterIP: 10.96.0.1}`)
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		for i := range n {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(1 + i)})
			s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, fmt.Sprintf("10.%d.%d.0/32", i%250, i/250))
		}
		tr := translator.New(translator.Options{Budget: budget.Limits{budget.Prefixes: 1 << 30}})
		put(t, tr, s, newSlice("w", "web", "10.0.0.1", "10.0.0.2"))
		tr.Snapshot()
		return func() {
			put(t, tr, newSlice("w", "web", "10.0.0.1"))
			tr.Snapshot()
		}
	})
}

// TestSlicesOfAServiceCostEachTheSame takes many slices of one Service in and out again.
func TestSlicesOfAServiceCostEachTheSame(t *testing.T) {
	growth.NearlyLinear(t, 5000, func(n int) func() {
		tr := translator.New(translator.Options{})
		return func() {
			for i := range n {
				put(t, tr, newSlice(fmt.Sprintf("s%05d", i), "web", "10.0.0.1"))
			}
			for i := n; i > 0; i-- {
				put(t, tr, newSlice(fmt.Sprintf("s%05d", i-1), "web", "10.0.0.2"))
			}
			tr.Snapshot()
		}
	})
}
