package policygen

import (
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/test/oracle"
)

// The parameters of Services.
const (
	ServiceNodes        = 20
	EndpointsPerService = 5
)

// Services is the regular cluster for measurements of load balancing: 20 nodes, 20 namespaces, n Services with 5
// endpoints each, IPv4, no policies. The cost of pods is measured by Workload: here endpoints are addresses without pods.
//
// Service i is service-<i> in namespace i mod 20, with one TCP port 80, the cluster IP number i+1 of 10.96.0.0/12, and
// one slice. Its endpoint j listens on 8080 at the address number 5i+j of 10.128.0.0/9, on node (i+j) mod 20.
func Services(n int) *oracle.Cluster {
	c := &oracle.Cluster{}
	for i := range ServiceNodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: serviceNode(i), UID: types.UID("node-" + serviceNode(i))}}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.18.1.%d", i+1)}}
		c.Nodes = append(c.Nodes, node)
	}
	for i := range WorkloadNamespaces {
		name := workloadNamespace(i)
		c.Namespaces = append(c.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("namespace-" + name), Labels: map[string]string{corev1.LabelMetadataName: name},
		}})
	}
	for i := range n {
		s, e := workloadService(i)
		c.Services, c.Slices = append(c.Services, s), append(c.Slices, e)
	}
	return c
}

// WorkloadWithServices is Workload(n) with n/10 of the Services of Services, whose endpoints have the addresses of its first n/2 pods.
func WorkloadWithServices(n int) *oracle.Cluster {
	c, balanced := Workload(n), Services(n/10)
	c.Services, c.Slices = balanced.Services, balanced.Slices
	return c
}

func serviceNode(i int) string { return fmt.Sprintf("n-%02d", i%ServiceNodes) }

func workloadService(i int) (*corev1.Service, *discoveryv1.EndpointSlice) {
	ns, name := workloadNamespace(i), fmt.Sprintf("service-%05d", i)
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: name, UID: types.UID("service-" + name),
		CreationTimestamp: metav1.NewTime(time.Unix(1_700_000_000+int64(i), 0).UTC()),
	}}
	ip := netip.AddrFrom4([4]byte{10, byte(96 + (i+1)>>16), byte((i + 1) >> 8), byte(i + 1)}).String() //nolint:gosec // G115: wraps beyond a million.
	policy, family := corev1.ServiceInternalTrafficPolicyCluster, corev1.IPFamilyPolicySingleStack
	s.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: ip, ClusterIPs: []string{ip}, SessionAffinity: corev1.ServiceAffinityNone,
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: &family, InternalTrafficPolicy: &policy,
		Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}},
	}
	portName, protocol, port := "", corev1.ProtocolTCP, int32(8080)
	e := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: name + "-0", UID: types.UID("slice-" + name), Labels: map[string]string{discoveryv1.LabelServiceName: name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Protocol: &protocol, Port: &port}},
	}
	for j := range EndpointsPerService {
		e.Endpoints = append(e.Endpoints, workloadEndpoint(i, j))
	}
	return s, e
}

func workloadEndpoint(i, j int) discoveryv1.Endpoint {
	ready, node, k := true, serviceNode(i+j), EndpointsPerService*i+j
	a := netip.AddrFrom4([4]byte{10, byte(128 + k>>16), byte(k >> 8), byte(k)}) //nolint:gosec // G115: wraps beyond eight million.
	return discoveryv1.Endpoint{
		Addresses: []string{a.String()}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
	}
}
