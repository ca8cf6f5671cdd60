//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/test/await"
)

// Changes of TestTenant, timed without and with the other tenant's objects.
const (
	kindAlone  = "a new policy"
	kindBeside = "a new policy, beside expensive objects"

	tenant  = "expensive"
	samples = 30
)

// TestTenant creates the most expensive objects that the API server accepts in one namespace, touches them again and again
// so that they are translated each time, and compares the cost of new policies of another namespace meanwhile with their
// cost before. Latencies are printed; the assertion is on processor time, which a busy machine does not change.
func TestTenant(t *testing.T) {
	t.Parallel()
	s := newScale(t)
	s.start()
	s.fill()

	alone := s.policies(kindAlone, 0, func(int) {})
	objects := s.expensive()
	s.awaitProblems(len(objects))
	beside := s.policies(kindBeside, samples, func(i int) { s.touch(objects[i%len(objects)], i) })

	for _, kind := range []string{kindAlone, kindBeside} {
		var took []time.Duration
		for _, c := range s.times.of(kind) {
			took = append(took, c.committed.Sub(c.sent))
		}
		t.Logf("%-40s p50 %-12v p99 %v", kind, quantile(took, 0.5), quantile(took, 0.99))
	}
	t.Logf("processor time of netloom: %.2f s alone, %.2f s beside %d touched objects", alone, beside, samples)
	require.Less(t, beside-alone, float64(samples), "each touch of an object costs less than a second of processor time")
	s.settle("beside expensive objects")
}

// policies creates one policy after the other, each after what else is done, and returns the processor time it took netloom
// until all of them are in force, in seconds.
func (s *scale) policies(kind string, first int, also func(i int)) float64 {
	s.t.Helper()
	before := cpuOf(s.t, s.netloom.PID())
	for i := range samples {
		also(i)
		s.load.addPolicyAs(s.t, s.times, kind, first+i)
	}
	s.times.await(s.t, s.netloom, kind)
	return cpuOf(s.t, s.netloom.PID()) - before
}

// expensive creates policies that select no pod or that ask for more than any honest policy, and the pods they need.
func (s *scale) expensive() []*networkingv1.NetworkPolicy {
	s.t.Helper()
	ctx := s.t.Context()
	_, err := s.load.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}, metav1.CreateOptions{})
	require.NoError(s.t, err)
	await.True(s.t, func() bool {
		_, err := s.load.client.CoreV1().ServiceAccounts(tenant).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	}, "the namespace has its service account")
	for i := range 30 {
		s.load.podWithPorts(s.t, i, 100)
	}
	objects := []*networkingv1.NetworkPolicy{
		blockPolicy("excepts-v6", "::/0", 20_000, func(i int) netip.Prefix {
			return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, byte(i >> 8), byte(i), 1, 15: 1}), 128)
		}),
		blockPolicy("excepts-v4", "0.0.0.0/0", 8_000, func(i int) netip.Prefix {
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(1 + i%200), byte(i >> 8), byte(i), 1}), 32)
		}),
		portPolicy("named-ports", 100),
	}
	for i, p := range objects {
		objects[i], err = s.load.client.NetworkingV1().NetworkPolicies(tenant).Create(ctx, p, metav1.CreateOptions{})
		require.NoError(s.t, err)
	}
	return objects
}

// blockPolicy allows one block without many of its addresses, to no pod.
func blockPolicy(name, block string, n int, except func(i int) netip.Prefix) *networkingv1.NetworkPolicy {
	ip := &networkingv1.IPBlock{CIDR: block}
	for i := range n {
		ip.Except = append(ip.Except, except(i).String())
	}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "none"}},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{IPBlock: ip}}}},
		},
	}
}

// portPolicy allows named ports of all pods, each of which has another number for them.
func portPolicy(name string, n int) *networkingv1.NetworkPolicy {
	rule := networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}
	for i := range n {
		port := intstr.FromString(fmt.Sprintf("port-%d", i))
		rule.Ports = append(rule.Ports, networkingv1.NetworkPolicyPort{Port: &port})
	}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress:      []networkingv1.NetworkPolicyEgressRule{rule},
		},
	}
}

// podWithPorts creates the ith pod of the tenant, whose ports have numbers that no other pod has.
func (l *load) podWithPorts(t *testing.T, i, n int) {
	t.Helper()
	container := corev1.Container{Name: "main", Image: "example.com/main"}
	for p := range n {
		container.Ports = append(container.Ports, corev1.ContainerPort{Name: fmt.Sprintf("port-%d", p), ContainerPort: int32(1 + i*n + p)})
	}
	pod, err := l.client.CoreV1().Pods(tenant).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: fmt.Sprintf("pod-%d", i)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	address := netip.AddrFrom4([4]byte{10, 254, byte(i >> 8), byte(1 + i)}).String()
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
	_, err = l.client.CoreV1().Pods(tenant).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// touch changes the spec of a policy so that it has to be translated again.
func (s *scale) touch(p *networkingv1.NetworkPolicy, i int) {
	s.t.Helper()
	_, err := s.load.client.NetworkingV1().NetworkPolicies(p.Namespace).Patch(s.t.Context(), p.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"podSelector":{"matchLabels":{"touched":"%d"}}}}`, i), metav1.PatchOptions{})
	require.NoError(s.t, err)
}

// awaitProblems waits until as many objects are reported as there are beyond their budget.
func (s *scale) awaitProblems(n int) {
	s.t.Helper()
	pattern := regexp.MustCompile(`(?m)^netloom_problems (\d+)`)
	await.True(s.t, func() bool {
		s.netloom.Running()
		text, err := s.netloom.Get("/metrics")
		found := pattern.FindStringSubmatch(text)
		if err != nil || found == nil {
			return false
		}
		problems, err := strconv.Atoi(found[1])
		return err == nil && problems >= n
	}, "the objects beyond their budget are problems")
}
