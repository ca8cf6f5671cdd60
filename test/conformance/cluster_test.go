package conformance

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

// family is which addresses come first: those that a test reads from status.podIP.
type family int

const (
	v4 family = iota
	v6
)

// cluster is an API with two nodes, whose StatefulSets have pods as soon as they are created.
type cluster struct {
	client.WithWatch

	first family
	pods  int // created so far
}

func newCluster(t *testing.T, first family) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha2.Install(scheme))
	c := &cluster{first: first}
	api := fake.NewClientBuilder().WithScheme(scheme)
	for i := range 2 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{"kubernetes.io/os": "linux"}}}
		for _, a := range c.addrs(0, i+1) {
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
		}
		api.WithObjects(node)
	}
	c.WithWatch = interceptor.NewClient(api.Build(), interceptor.Funcs{Create: c.create})
	return c
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// addrs is the address of number n in a subnet, in both families.
func (c *cluster) addrs(subnet, n int) []netip.Addr {
	both := []netip.Addr{
		netip.AddrFrom4([4]byte{10, 0, byte(subnet), byte(n)}), netip.MustParseAddr(fmt.Sprintf("fd00:%d::%d", subnet+1, n)),
	}
	if c.first == v6 {
		both[0], both[1] = both[1], both[0]
	}
	return both
}

// create creates an object, and the pods of a StatefulSet.
func (c *cluster) create(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || u.GetKind() != "StatefulSet" {
		return to.Create(ctx, o, opts...)
	}
	var set appsv1.StatefulSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &set); err != nil {
		return err
	}
	set.Status.ReadyReplicas = *set.Spec.Replicas
	for i := range int(*set.Spec.Replicas) {
		if err := to.Create(ctx, c.podOf(&set, i)); err != nil {
			return err
		}
	}
	return to.Create(ctx, &set, opts...)
}

func (c *cluster) podOf(set *appsv1.StatefulSet, i int) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, i), Labels: set.Spec.Template.Labels,
		},
		Spec: set.Spec.Template.Spec, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	p.Spec.NodeName = nodeName(i % 2)
	c.pods++
	addrs := c.addrs(1, c.pods)
	if p.Spec.HostNetwork {
		addrs = c.addrs(0, i%2+1)
	}
	p.Status.PodIP = addrs[0].String()
	for _, a := range addrs {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a.String()})
	}
	return p
}

// objects is everything that decides about connections.
func (c *cluster) objects(ctx context.Context) (pods []corev1.Pod, others []client.Object, err error) {
	var podList corev1.PodList
	var namespaces corev1.NamespaceList
	var nodes corev1.NodeList
	var policies networkingv1.NetworkPolicyList
	var tiered v1alpha2.ClusterNetworkPolicyList
	for _, list := range []client.ObjectList{&podList, &namespaces, &nodes, &policies, &tiered} {
		if err := c.List(ctx, list); err != nil {
			return nil, nil, err
		}
	}
	for i := range namespaces.Items {
		n := &namespaces.Items[i]
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[corev1.LabelMetadataName] = n.Name
		others = append(others, n)
	}
	for i := range nodes.Items {
		others = append(others, &nodes.Items[i])
	}
	for i := range policies.Items {
		others = append(others, &policies.Items[i])
	}
	for i := range tiered.Items {
		others = append(others, &tiered.Items[i])
	}
	return podList.Items, others, nil
}
