package lint_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/test/oracle"
)

// pod is a pod that declares port web, 8080; its name is namespace/name.
func pod(name, app, addr string) *corev1.Pod {
	namespace, name, _ := strings.Cut(name, "/")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app, "in": namespace}}}
	p.Spec.NodeName = "n1"
	p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}}}
	p.Status.Phase = corev1.PodRunning
	p.Status.PodIP, p.Status.PodIPs = addr, []corev1.PodIP{{IP: addr}}
	return p
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/metadata.name": name, "team": name}}}
}

// shop has two pods in namespace shop and one in kube-system, and policies of namespace shop, each "NAME SPEC".
func shop(t *testing.T, policies ...string) *oracle.Cluster {
	t.Helper()
	c := &oracle.Cluster{
		Namespaces: []*corev1.Namespace{namespace("shop"), namespace("kube-system")},
		Pods: []*corev1.Pod{
			pod("shop/db-0", "db", "10.0.0.1"), pod("shop/api-0", "api", "10.0.0.2"), pod("kube-system/dns-0", "dns", "10.0.1.1"),
		},
	}
	for _, text := range policies {
		name, spec, _ := strings.Cut(text, " ")
		np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &np.Spec))
		c.Policies = append(c.Policies, np)
	}
	return c
}

// clusterPolicy adds a cluster-wide policy.
func clusterPolicy(t *testing.T, c *oracle.Cluster, name, spec string) *oracle.Cluster {
	t.Helper()
	p := &v1alpha2.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &p.Spec))
	c.ClusterPolicies = append(c.ClusterPolicies, p)
	return c
}

// found lists what lint reports of some rules, each "object field rule: message".
func found(t *testing.T, c *oracle.Cluster, rules ...string) []string {
	t.Helper()
	var out []string
	for _, f := range lint.Run(clusterOf(t, c), lint.Options{}).Findings {
		for _, id := range rules {
			if f.Rule == id {
				text := f.Ref.Path() + " " + f.Field + " " + f.Rule + ": " + f.Message
				for _, by := range f.By {
					text += " [" + by.Path() + "]"
				}
				out = append(out, text)
			}
		}
	}
	return out
}

type addr = netip.Addr

// slicesOf is the slice of a Service with one ready endpoint and one UDP port.
func slicesOf(namespace, service string, port int32, address string) []*discoveryv1.EndpointSlice {
	name, udp, ready := "dns", corev1.ProtocolUDP, true
	return []*discoveryv1.EndpointSlice{{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &udp}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}}
}
