package translator_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/service"
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

// TestServicesThatWantTheSameAddress has many Services ask for the ports of one address, in one network or one each, and lets the
// oldest leave.
func TestServicesThatWantTheSameAddress(t *testing.T) {
	of := func(i int, network string) runtime.Object {
		s := newService(t, fmt.Sprintf("s%05d", i), 0, fmt.Sprintf("{clusterIP: 10.%d.%d.1, externalIPs: [10.0.0.1]}", 1+i/250, i%250))
		s.Annotations = map[string]string{service.NetworkAnnotation: network}
		for port := range int32(10) {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", port), Port: 80 + port})
		}
		return s
	}
	for _, tc := range []struct {
		name, kind string
		asks       func(i int) runtime.Object
	}{
		{"Services", object.KindService, func(i int) runtime.Object { return of(i, "") }},
		{"Services of many networks", object.KindService, func(i int) runtime.Object { return of(i, fmt.Sprint("n", i)) }},
		{"ServiceImports", object.KindServiceImport, func(i int) runtime.Object {
			o := &mcsv1alpha1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("s%05d", i)}}
			o.Spec.Type, o.Spec.IPs = mcsv1alpha1.ClusterSetIP, []string{"10.0.0.1"}
			for port := range int32(10) {
				o.Spec.Ports = append(o.Spec.Ports, mcsv1alpha1.ServicePort{Name: fmt.Sprint("p", port), Port: 80 + port})
			}
			return o
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			growth.NearlyLinear(t, 150, func(n int) func() {
				tr := translator.New(translator.Options{})
				for i := range n {
					put(t, tr, tc.asks(i))
				}
				return func() {
					tr.Snapshot()
					tr.Remove(tc.kind, "shop", "s00000")
					tr.Snapshot()
				}
			})
		})
	}
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
