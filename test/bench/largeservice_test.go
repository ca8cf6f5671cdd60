package bench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// endpointsPerSlice is the default of the controller that makes slices.
const endpointsPerSlice = 100

// largeSlice is the k-th of a Service with very many.
func largeSlice(k int) *discoveryv1.EndpointSlice {
	port, name := int32(8080), "http"
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%05d", k*7919%10007), Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
	for i := range endpointsPerSlice {
		n := k*endpointsPerSlice + i
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.%d.%d.%d", uint32(n)*2654435761>>16&0xff, n>>8&0xff, n&0xff)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: fmt.Sprint("web-", n)},
		})
	}
	return s
}

// BenchmarkLargeService measures an endpoint that leaves a Service and comes back, with ever more endpoints in it, from the changed slice
// to the committed transaction.
func BenchmarkLargeService(b *testing.B) {
	for _, endpoints := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("endpoints=%d", endpoints), func(b *testing.B) {
			server, err := simulator.NewServer(schema.NB2303())
			require.NoError(b, err)
			require.NoError(b, server.Start("unix:"+b.TempDir()+"/nb.sock"))
			b.Cleanup(server.Close)
			r := newRig(b, server.Addr())
			require.NoError(b, r.translator.Put(&corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
				Spec:       corev1.ServiceSpec{ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
			}))
			for k := range endpoints / endpointsPerSlice {
				require.NoError(b, r.translator.Put(largeSlice(k)))
			}
			r.sync(b)
			slice := largeSlice(5)
			less := without(slice)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, r.translator.Put(less))
				r.sync(b)
				require.NoError(b, r.translator.Put(slice))
				r.sync(b)
			}
		})
	}
}
