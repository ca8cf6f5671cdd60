package source_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
)

func TestTrimmedPod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := sourcetest.Pod("a", "7")
	trim(t, p)
	require.Equal(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "shop", UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.Unix(1, 0),
			Labels:      map[string]string{"app": "a"},
			Annotations: map[string]string{"netloom.io/log": "info"},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{
				{Name: "proxy", RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "p", ContainerPort: 2}}},
			},
			Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}}},
			NodeName:   "n1", HostNetwork: true,
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
		},
	}, p)
}

func TestTrimmedOthers(t *testing.T) {
	meta := func(namespace string, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: "a", Namespace: namespace, ResourceVersion: "7", Labels: map[string]string{"l": "v"},
			Annotations: annotations,
		}
	}
	applied := map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "x/log": "info"}
	kept := map[string]string{"x/log": "info"}
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}

	policy := &networkingv1.NetworkPolicy{ObjectMeta: meta("shop", applied)}
	policy.ManagedFields = managed
	trim(t, policy)
	require.Equal(t, &networkingv1.NetworkPolicy{ObjectMeta: meta("shop", kept)}, policy)

	namespace := &corev1.Namespace{
		ObjectMeta: meta("", applied), Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}},
	}
	namespace.ManagedFields = managed
	trim(t, namespace)
	require.Equal(t, &corev1.Namespace{ObjectMeta: meta("", kept)}, namespace)

	addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	node := &corev1.Node{
		ObjectMeta: meta("", map[string]string{"k8s.ovn.org/node-subnets": "{}", "x": "y"}),
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.0.0.0/24"}, Taints: []corev1.Taint{{Key: "k"}}},
		Status: corev1.NodeStatus{
			Addresses: addresses, Images: []corev1.ContainerImage{{SizeBytes: 1}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}},
		},
	}
	trim(t, node)
	require.Equal(t, &corev1.Node{
		ObjectMeta: meta("", map[string]string{"k8s.ovn.org/node-subnets": "{}"}),
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.0.0.0/24"}},
		Status:     corev1.NodeStatus{Addresses: addresses},
	}, node)
}

func TestTrimmedService(t *testing.T) {
	s := &corev1.Service{
		TypeMeta: metav1.TypeMeta{Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "shop", UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.Unix(1, 0),
			Labels: map[string]string{"service.kubernetes.io/service-proxy-name": "x"},
			Annotations: map[string]string{
				"netloom.io/network": "a", "ovn.kubernetes.io/vpc": "b", "k8s.ovn.org/c": "d",
				corev1.AnnotationLoadBalancerSourceRangesKey: "10.0.0.0/8",
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}, Finalizers: []string{"a/b"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"},
			Ports:     []corev1.ServicePort{{Name: "a", Port: 80, NodePort: 30080, AppProtocol: new("http")}},
			ClusterIP: "10.96.0.1", LoadBalancerClass: new("c"), LoadBalancerIP: "192.0.2.9",
			LoadBalancerSourceRanges: []string{"10.0.0.0/8"}, ExternalIPs: []string{"192.0.2.2"},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: new(corev1.IPFamilyPolicySingleStack),
			SessionAffinity:       corev1.ServiceAffinityClientIP,
			SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(5))}},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, HealthCheckNodePort: 30081,
			InternalTrafficPolicy:    new(corev1.ServiceInternalTrafficPolicyLocal),
			PublishNotReadyAddresses: true, TrafficDistribution: new(corev1.ServiceTrafficDistributionPreferClose),
			AllocateLoadBalancerNodePorts: new(true),
		},
		Status: corev1.ServiceStatus{
			LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}},
			Conditions:   []metav1.Condition{{Type: "x"}},
		},
	}
	want := s.DeepCopy()
	want.TypeMeta, want.ManagedFields, want.Finalizers = metav1.TypeMeta{}, nil, nil
	delete(want.Annotations, corev1.AnnotationLoadBalancerSourceRangesKey)
	want.Spec.LoadBalancerClass, want.Spec.LoadBalancerIP = nil, ""
	want.Spec.AllocateLoadBalancerNodePorts, want.Spec.Ports[0].AppProtocol = nil, nil
	want.Spec.ClusterIPs = []string{"10.96.0.1"} // a server older than 1.20 does not say so
	want.Status.Conditions = nil
	trim(t, s)
	require.Equal(t, want, s)
}

func TestTrimmedSlice(t *testing.T) {
	endpoint := discoveryv1.Endpoint{
		Addresses: []string{"10.0.0.1"}, Hostname: new("h"), NodeName: new("n1"), Zone: new("z"),
		Conditions:         discoveryv1.EndpointConditions{Ready: new(true)},
		DeprecatedTopology: map[string]string{"a": "b"},
		TargetRef:          &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "a", UID: "u", ResourceVersion: "9"},
		Hints:              &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}},
	}
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", Namespace: "shop", ResourceVersion: "7", Labels: map[string]string{"a": "b"},
			Annotations:     map[string]string{corev1.EndpointsLastChangeTriggerTime: "now", "netloom.io/network": "n"},
			OwnerReferences: []metav1.OwnerReference{{Name: "web"}}, ManagedFields: []metav1.ManagedFieldsEntry{{}},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: append(make([]discoveryv1.Endpoint, 0, 8), endpoint),
		Ports: []discoveryv1.EndpointPort{{Name: new("a"), Port: new(int32(80)), AppProtocol: new("http")}},
	}
	trim(t, s)
	require.Equal(t, 1, cap(s.Endpoints), "no room is left")
	endpoint.Hostname, endpoint.DeprecatedTopology = nil, nil
	endpoint.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "a"}
	require.Equal(t, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", Namespace: "shop", ResourceVersion: "7", Labels: map[string]string{"a": "b"},
			Annotations: map[string]string{"netloom.io/network": "n"},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{endpoint},
		Ports: []discoveryv1.EndpointPort{{Name: new("a"), Port: new(int32(80))}},
	}, s)
}

func TestTrimmedCNF(t *testing.T) {
	yes, now := true, metav1.Now()
	labels := map[string]string{"sdewanPurpose": "cnf1", "cnf-cert-secret": "c", "app": "cnf"}
	p := sourcetest.CNF(labels, corev1.ConditionFalse, 3)
	p.DeletionTimestamp = &now
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "cnf-1", Namespace: "shop", UID: "u", ResourceVersion: "1", Labels: labels, DeletionTimestamp: &now,
			Annotations: map[string]string{
				"k8s.plugin.opnfv.org/nfn-network": "{}", "k8s.v1.cni.cncf.io/network-status": "[]",
				"k8s.v1.cni.cncf.io/networks-status": "[1]",
			},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "cnf-5d4f", Controller: &yes}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "cnf", RestartCount: 3}},
		},
	}
	trim(t, p)
	require.Equal(t, want, p)
	trim(t, p)
	require.Equal(t, want, p, "trimming twice is trimming once")
}

// trim drops of an object what its kind does not keep.
func trim(t *testing.T, o source.Object) {
	t.Helper()
	for _, r := range source.Resources() {
		if reflect.TypeOf(r.New()) == reflect.TypeOf(o) {
			r.Trim(o)
			return
		}
	}
	require.FailNow(t, "no kind has such objects", "%T", o)
}
