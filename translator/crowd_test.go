package translator_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
)

// crowd is a thousand objects that are each as large as the API or the budget of one object allows.
type crowd struct {
	name   string
	budget string // that they exceed, as in problems
	object func(i int) []any
	peers  bool  // they are of another cluster
	read   int64 // bytes of an object that are held whether it fits in or not
}

const (
	crowdSize      = 1000
	crowdEndpoints = 1000 // in a slice, the limit of the API
)

// manyTimes is a list of n elements.
func manyTimes[E any](n int, element func(i int) E) []E {
	out := make([]E, n)
	for i := range out {
		out[i] = element(i)
	}
	return out
}

func valued(i, n int) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: fmt.Sprint("k", i), Operator: metav1.LabelSelectorOpIn, Values: manyTimes(n, func(k int) string { return fmt.Sprint("v", i, "-", k) }),
	}}}
}

func crowdPolicy(rule networkingv1.NetworkPolicyIngressRule) func(int) []any {
	spec := networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{rule}}
	return func(i int) []any {
		return []any{aged(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%04d", i)}, Spec: spec}, "flood", i)}
	}
}

func crowds() []crowd {
	excepts := manyTimes(780, func(i int) string {
		h := uint32(i) * 2654435761
		return netip.AddrFrom4([4]byte{byte(h>>24) | 1, byte(h >> 16), byte(h >> 8), byte(h)}).String() + "/32"
	})
	ports := manyTimes(4000, func(i int) networkingv1.NetworkPolicyPort {
		port := intstr.FromInt32(int32(1 + 2*i))
		return networkingv1.NetworkPolicyPort{Port: &port}
	})
	peers := manyTimes(1800, func(i int) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{PodSelector: valued(i, 10)}
	})
	wide := manyTimes(25, func(i int) v1alpha2.ClusterNetworkPolicyIngressRule {
		return v1alpha2.ClusterNetworkPolicyIngressRule{
			Action: v1alpha2.ClusterNetworkPolicyRuleActionAccept,
			From: manyTimes(25, func(k int) v1alpha2.ClusterNetworkPolicyIngressPeer {
				return v1alpha2.ClusterNetworkPolicyIngressPeer{Namespaces: valued(100*i+k, 25)}
			}),
		}
	})
	addresses := manyTimes(crowdEndpoints, func(i int) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{netip.AddrFrom4([4]byte{10, 3, byte(i >> 8), byte(i)}).String()}}
	})
	servicePorts := manyTimes(100, func(i int) corev1.ServicePort {
		return corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(1 + i)}
	})
	slicePorts := manyTimes(100, func(i int) discoveryv1.EndpointPort {
		name, port := fmt.Sprint("p", i), int32(8000+i)
		return discoveryv1.EndpointPort{Name: &name, Port: &port}
	})
	external := manyTimes(900, func(i int) string { return netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}).String() })
	service := func(i int, external []string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%04d", i)}}
		s.Spec = corev1.ServiceSpec{ClusterIP: fmt.Sprintf("10.96.%d.%d", i>>8, i&255), Ports: servicePorts, ExternalIPs: external}
		return aged(s, "flood", i)
	}
	pod := func(i, labels int) *corev1.Pod {
		p := aged(newPod(fmt.Sprintf("pod%04d", i), fmt.Sprintf("10.4.%d.%d", i>>8, i&255), "db", nil), "flood", i)
		for k := range labels {
			p.Labels[fmt.Sprint("k", k)] = fmt.Sprint("v", i)
		}
		return p
	}
	return []crowd{
		{"policies with excepts", "flood/policies", crowdPolicy(networkingv1.NetworkPolicyIngressRule{
			From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: excepts}}},
		}), false, 0},
		{"policies with selectors of thousands of values", "flood/policies", crowdPolicy(networkingv1.NetworkPolicyIngressRule{From: peers}), false, 0},
		{"policies with ports", "flood/policies", crowdPolicy(networkingv1.NetworkPolicyIngressRule{Ports: ports}), false, 0},
		{"cluster-wide policies", "policies", func(i int) []any {
			p := &v1alpha2.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%04d", i)}}
			p.Spec.Tier, p.Spec.Priority, p.Spec.Ingress = v1alpha2.AdminTier, int32(i), wide
			p.Spec.Subject.Namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"no": "such"}}
			return []any{aged(p, "", i)}
		}, false, 0},
		{"Services with endpoints", "flood/services", func(i int) []any {
			s := service(i, nil)
			slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: addresses, Ports: slicePorts}
			slice.ObjectMeta = metav1.ObjectMeta{Namespace: "flood", Name: s.Name, Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}}
			return []any{s, slice}
		}, false, crowdEndpoints * 200},
		{"Services with addresses", "flood/services", func(i int) []any { return []any{service(i, external)} }, false, 0},
		{"pods with labels", "flood/pods", func(i int) []any { return []any{pod(i, 990)} }, false, 0},
		{"pods with ports", "flood/pods", func(i int) []any {
			p := pod(i, 0)
			p.Spec.Containers = []corev1.Container{{Ports: manyTimes(990, func(k int) corev1.ContainerPort {
				return corev1.ContainerPort{Name: fmt.Sprint("p", k), ContainerPort: int32(1 + k + i)}
			})}}
			return []any{p}
		}, false, 0},
		{"pods of another cluster", "b/peers", func(i int) []any { return []any{pod(i, 990)} }, true, 0},
	}
}

// heapInUse is what is reachable.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestAThousandObjectsAtTheLimitStayWithinTheBudget compares the memory that they take, besides the objects themselves, with what the
// budgets are sized from. The policy and the Service of another namespace, which are newer, are in force.
func TestAThousandObjectsAtTheLimitStayWithinTheBudget(t *testing.T) {
	const memory = 128 << 20
	for _, c := range crowds() {
		t.Run(c.name, func(t *testing.T) {
			opts := translator.Options{Shares: budget.SharesOf(memory)}
			if c.peers {
				opts.Cluster, opts.ClusterSet = "a", field.SetByDefault
			}
			tr := translator.New(opts)
			put(t, tr, newNamespace(nil), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flood"}}, newPod("db", "10.0.0.1", "db", nil), newPod("web", "10.0.0.2", "web", nil))
			objects := make([][]any, crowdSize)
			for i := range objects {
				objects[i] = c.object(i)
			}
			before := heapInUse()
			for _, all := range objects {
				for _, o := range all {
					if c.peers {
						require.NoError(t, tr.PutOther("b", o))
					} else {
						put(t, tr, o)
					}
				}
			}
			put(t, tr, aged(newPolicy(t, "mine", webToDB), "shop", crowdSize), aged(newService(t, "mine", 0, `{clusterIP: 10.97.0.1, ports: [{port: 80}]}`), "shop", crowdSize),
				newSlice("mine", "mine", "10.0.0.1"))
			s := tr.Snapshot()
			took := heapInUse() - before
			t.Logf("%d MiB of %d", took>>20, memory>>20)
			require.Less(t, took, memory+c.read*crowdSize)
			require.Contains(t, messages(tr), "Budget/"+c.budget+": ")
			require.NotContains(t, messages(tr), "mine")
			require.Contains(t, allowing(s), "shop/mine")
			if !c.peers {
				require.Equal(t, "10.0.0.1", backends(s, "mine"))
			}
			runtime.KeepAlive(objects)
		})
	}
}
