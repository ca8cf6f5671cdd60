package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/test/policygen"
)

// TestEndpointOfEachShape counts the rows that an endpoint which leaves a Service, and comes back, touches: one for each
// protocol and scope, and one for each chassis where the choice changes. It is one transaction whatever the shape.
func TestEndpointOfEachShape(t *testing.T) {
	for _, tc := range []struct {
		name  string
		shape func(*corev1.Service, *discoveryv1.EndpointSlice)
		want  map[string]int
	}{
		{"a cluster IP", nil, map[string]int{"Load_Balancer": 1}},
		{"two ports of a protocol", twoPorts, map[string]int{"Load_Balancer": 1}},
		{"two protocols", twoProtocols, map[string]int{"Load_Balancer": 2}},
		{"a node port", nodePort, map[string]int{"Load_Balancer": 1}},
		{"a node port and an external address", outside, map[string]int{"Load_Balancer": 2}},
		{"the same with two protocols", both(outside, twoProtocols), map[string]int{"Load_Balancer": 4}},
		{
			"the same, and local from outside", both(outside, twoProtocols, externalLocal),
			map[string]int{"Load_Balancer": 6, "Chassis_Template_Var": 1},
		},
		{"local inside", internalLocal, map[string]int{"Chassis_Template_Var": 1}},
		{"local inside with two protocols", both(twoProtocols, internalLocal), map[string]int{"Chassis_Template_Var": 1}},
		{"hints for a zone of ten nodes", zones, map[string]int{"Chassis_Template_Var": policygen.ServiceNodes / 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := policygen.Services(20)
			for i, node := range cluster.Nodes {
				node.Labels = map[string]string{corev1.LabelTopologyZone: zone(i)}
			}
			service, slice := cluster.Services[17], cluster.Slices[17]
			if tc.shape != nil {
				tc.shape(service, slice)
			}
			server, r := serviceRig(t, cluster)
			r.sync(t)
			for _, change := range []any{without(slice), slice} {
				require.NoError(t, r.translator.Put(change))
				e, touched := r.effort(t, server)
				require.Equal(t, tc.want, touched)
				require.Equal(t, 1, e.transactions)
			}
		})
	}
}

func both(shapes ...func(*corev1.Service, *discoveryv1.EndpointSlice)) func(*corev1.Service, *discoveryv1.EndpointSlice) {
	return func(s *corev1.Service, e *discoveryv1.EndpointSlice) {
		for _, shape := range shapes {
			shape(s, e)
		}
	}
}

func twoPorts(s *corev1.Service, e *discoveryv1.EndpointSlice) {
	addPort(s, e, 443, corev1.ProtocolTCP)
}

func twoProtocols(s *corev1.Service, e *discoveryv1.EndpointSlice) {
	addPort(s, e, 80, corev1.ProtocolUDP)
}

// addPort gives a Service a second port, "more" by name, which leads to the same number.
func addPort(s *corev1.Service, e *discoveryv1.EndpointSlice, number int32, protocol corev1.Protocol) {
	name, target := "more", int32(8080)
	first := "http"
	s.Spec.Ports[0].Name, e.Ports[0].Name = first, &first
	p := corev1.ServicePort{Name: name, Port: number, Protocol: protocol, TargetPort: intstr.FromInt32(target)}
	if s.Spec.Ports[0].NodePort != 0 {
		p.NodePort = 30081
	}
	s.Spec.Ports = append(s.Spec.Ports, p)
	e.Ports = append(e.Ports, discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &target})
}

func nodePort(s *corev1.Service, _ *discoveryv1.EndpointSlice) {
	s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30080
}

func outside(s *corev1.Service, e *discoveryv1.EndpointSlice) {
	nodePort(s, e)
	s.Spec.ExternalIPs = []string{"198.51.100.7"}
}

func externalLocal(s *corev1.Service, _ *discoveryv1.EndpointSlice) {
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func internalLocal(s *corev1.Service, _ *discoveryv1.EndpointSlice) {
	policy := corev1.ServiceInternalTrafficPolicyLocal
	s.Spec.InternalTrafficPolicy = &policy
}

// zones are those of the nodes: even ones are in the east, odd ones in the west.
func zones(s *corev1.Service, e *discoveryv1.EndpointSlice) {
	distribution := corev1.ServiceTrafficDistributionPreferClose
	s.Spec.TrafficDistribution = &distribution
	for i := range e.Endpoints {
		e.Endpoints[i].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone(i)}}}
	}
}

func zone(i int) string { return [...]string{"east", "west"}[i%2] }
