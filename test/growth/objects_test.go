package growth_test

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const namespace = "shop"

// lists are those of every kind that is translated.
func lists() []list {
	return append(append(policyLists(), selectorLists()...), append(podLists(), serviceLists()...)...)
}

// policy is a policy of a namespace with a pod.
func policy(spec networkingv1.NetworkPolicySpec) []any {
	return []any{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "policy"}, Spec: spec},
		pod("pod", nil),
	}
}

func ingress(rules ...networkingv1.NetworkPolicyIngressRule) []any {
	return policy(networkingv1.NetworkPolicySpec{Ingress: rules})
}

func egress(rules ...networkingv1.NetworkPolicyEgressRule) []any {
	return policy(networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}, Egress: rules,
	})
}

// each makes a list of n elements.
func each[T any](n int, element func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = element(i)
	}
	return out
}

func policyLists() []list {
	number := func(first int) networkingv1.NetworkPolicyPort {
		p := intstr.FromInt(first % 65535)
		return networkingv1.NetworkPolicyPort{Port: &p}
	}
	name := func(i int) networkingv1.NetworkPolicyPort {
		p := intstr.FromString(portName(i))
		return networkingv1.NetworkPolicyPort{Port: &p}
	}
	block := func(i int) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: scattered(4, i).String()}}
	}
	return []list{
		{"ingress rules", 4000, func(n int) []any {
			return ingress(each(n, func(i int) networkingv1.NetworkPolicyIngressRule {
				return networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{number(1 + i)}}
			})...)
		}, 100_000},
		{"egress rules with a peer", 4000, func(n int) []any {
			return egress(each(n, func(i int) networkingv1.NetworkPolicyEgressRule {
				return networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{block(i)}}
			})...)
		}, 40_000},
		{"peers that are blocks", 20_000, func(n int) []any {
			return ingress(networkingv1.NetworkPolicyIngressRule{From: each(n, block)})
		}, 0},
		{"peers that are selectors", 2000, func(n int) []any {
			return egress(networkingv1.NetworkPolicyEgressRule{To: each(n, selectorPeer)})
		}, 20_000},
		{"numbers of ports", 4000, func(n int) []any {
			return ingress(networkingv1.NetworkPolicyIngressRule{
				Ports: each(n, func(i int) networkingv1.NetworkPolicyPort { return number(1 + 2*i) }),
			})
		}, 60_000},
		{"ranges of ports that overlap", 40_000, func(n int) []any {
			return ingress(networkingv1.NetworkPolicyIngressRule{
				Ports: each(n, func(i int) networkingv1.NetworkPolicyPort {
					p, end := number(1+i), int32(65535)
					p.EndPort = &end
					return p
				}),
			})
		}, 0},
		{"names of ports that no pod declares", 2000, func(n int) []any {
			return egress(networkingv1.NetworkPolicyEgressRule{Ports: each(n, name)})
		}, 60_000},
		{"names of ports", 1000, func(n int) []any {
			declared := pod("ports", nil)
			declared.Spec.Containers = []corev1.Container{{Name: "c", Ports: each(16*n, containerPort)}}
			return append(ingress(networkingv1.NetworkPolicyIngressRule{
				Ports: each(n, func(i int) networkingv1.NetworkPolicyPort { return name(15*n + i) }),
			}), declared)
		}, 0},
		{"pods that declare one name with a number each", 8000, func(n int) []any {
			return append(each(n, func(i int) any {
				p := pod(fmt.Sprint("pod-", i), nil)
				p.Status.PodIP = scattered(4, i).Addr().String()
				p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
				p.Spec.Containers = []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: portName(0), ContainerPort: int32(1 + i)}}}}
				return p
			}), ingress(networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{name(0)}})...)
		}, 0},
		{"excepts of IPv4", 4000, func(n int) []any { return excepts("0.0.0.0/0", 4, n) }, 60_000},
		{"excepts of IPv6", 400, func(n int) []any { return excepts("::/0", 6, n) }, 20_000},
		{"excepts that are the same", 40_000, func(n int) []any {
			return ingress(networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{
				IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: each(n, func(int) string { return "fd00::/8" })},
			}}})
		}, 0},
		{"policy types", 40_000, func(n int) []any {
			return policy(networkingv1.NetworkPolicySpec{
				PolicyTypes: each(n, func(int) networkingv1.PolicyType { return networkingv1.PolicyTypeEgress }),
			})
		}, 0},
	}
}

func excepts(cidr string, family, n int) []any {
	return ingress(networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{
		IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: each(n, func(i int) string { return scattered(family, i).String() })},
	}}})
}

// scattered is a prefix of one address that is far from others.
func scattered(family, i int) netip.Prefix {
	x := uint32(i) * 2654435761
	b := [16]byte{0x20, 0x01, byte(x >> 24), byte(x >> 16), byte(x >> 8), byte(x), 15: 1}
	if family == 6 {
		return netip.PrefixFrom(netip.AddrFrom16(b), 128)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{b[2], b[3], b[4], b[5]}), 32)
}

func selectorPeer(i int) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": fmt.Sprint("t", i)}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("a", i)}},
	}
}

func selectorLists() []list {
	value := func(i int) string { return fmt.Sprint("v", i) }
	key := func(i int) string { return fmt.Sprint("k", i) }
	labels := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[key(i)] = "v0"
		}
		return m
	}
	type requirements = []metav1.LabelSelectorRequirement
	in := func(op metav1.LabelSelectorOperator, key string, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: values}
	}
	// Every selector is that of subjects, of peers and of their namespaces.
	selectors := func(name string, most int, expressions func(n int) requirements) list {
		return list{name, most, func(n int) []any {
			ls := metav1.LabelSelector{MatchExpressions: expressions(n)}
			objects := policy(networkingv1.NetworkPolicySpec{PodSelector: ls, Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{PodSelector: &ls, NamespaceSelector: &ls}},
			}}})
			many := map[string]string{"k0": "v0"}
			for i := 1; i < n; i++ {
				many[key(i)] = "a"
			}
			return append(objects, pod("labelled", many))
		}, 5 * most}
	}
	return []list{
		{"labels that match", 3000, func(n int) []any {
			ls := metav1.LabelSelector{MatchLabels: labels(n)}
			objects := policy(networkingv1.NetworkPolicySpec{PodSelector: ls, Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{PodSelector: &ls, NamespaceSelector: &ls}},
			}}})
			return append(objects, pod("labelled", labels(n)))
		}, 0},
		selectors("values of In", 5000, func(n int) requirements {
			return requirements{in(metav1.LabelSelectorOpIn, "k0", each(n, value)...)}
		}),
		selectors("values of NotIn", 5000, func(n int) requirements {
			return requirements{in(metav1.LabelSelectorOpNotIn, "k0", each(n, value)...)}
		}),
		selectors("expressions of NotIn about one key", 4000, func(n int) requirements {
			return each(n, func(i int) metav1.LabelSelectorRequirement { return in(metav1.LabelSelectorOpNotIn, "k0", value(i+1)) })
		}),
		selectors("expressions of In about one key", 4000, func(n int) requirements {
			return each(n, func(int) metav1.LabelSelectorRequirement { return in(metav1.LabelSelectorOpIn, "k0", "v0", "v1") })
		}),
		selectors("expressions of In beside a long one", 4000, func(n int) requirements {
			long := in(metav1.LabelSelectorOpIn, "k0", each(n, value)...)
			return append(requirements{long}, each(n, func(i int) metav1.LabelSelectorRequirement {
				return in(metav1.LabelSelectorOpIn, key(i+1), "a", "b")
			})...)
		}),
		selectors("expressions of Exists and DoesNotExist", 4000, func(n int) requirements {
			return each(n, func(i int) metav1.LabelSelectorRequirement {
				return in([]metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}[i%2], key(i))
			})
		}),
	}
}

func pod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: fmt.Sprint("10.0.0.", len(name))}}},
	}
}

func portName(i int) string { return fmt.Sprint("p", i) }

func containerPort(i int) corev1.ContainerPort {
	return corev1.ContainerPort{Name: portName(i), ContainerPort: int32(1 + i%65535)}
}

func podLists() []list {
	labels := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint("k", i)] = fmt.Sprint("v", i)
		}
		return m
	}
	// selecting is a policy whose peers select single labels, of pods or namespaces, which is how such are filed.
	selecting := func(n int, peer func(ls *metav1.LabelSelector) networkingv1.NetworkPolicyPeer) []any {
		return ingress(networkingv1.NetworkPolicyIngressRule{From: each(n, func(i int) networkingv1.NetworkPolicyPeer {
			return peer(&metav1.LabelSelector{MatchLabels: map[string]string{fmt.Sprint("k", i): fmt.Sprint("v", i)}})
		})})
	}
	return []list{
		{"labels of a pod", 2000, func(n int) []any {
			return append(selecting(n, func(ls *metav1.LabelSelector) networkingv1.NetworkPolicyPeer {
				return networkingv1.NetworkPolicyPeer{PodSelector: ls}
			}), pod("labelled", labels(n)))
		}, 0},
		{"labels of a namespace", 2000, func(n int) []any {
			objects := selecting(n, func(ls *metav1.LabelSelector) networkingv1.NetworkPolicyPeer {
				return networkingv1.NetworkPolicyPeer{NamespaceSelector: ls}
			})
			objects[0] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels(n)}}
			return append(objects, pod("other", nil))
		}, 0},
		{"labels of a pod and of its namespace", 8000, func(n int) []any {
			objects := append(selecting(n, func(ls *metav1.LabelSelector) networkingv1.NetworkPolicyPeer {
				return networkingv1.NetworkPolicyPeer{NamespaceSelector: ls, PodSelector: ls}
			}), pod("labelled", labels(n)))
			objects[0] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels(n)}}
			return objects
		}, 0},
		{"addresses of a pod", 2000, func(n int) []any { // the API accepts two
			p := pod("addresses", nil)
			p.Status.PodIPs = each(n, func(i int) corev1.PodIP { return corev1.PodIP{IP: scattered(6, i).Addr().String()} })
			return append(ingress(), p)
		}, 0},
		{"ports of a pod", 20_000, func(n int) []any {
			p := pod("ports", nil)
			p.Spec.Containers = []corev1.Container{{Name: "c", Ports: each(n, containerPort)}}
			return append(ingress(), p)
		}, 0},
		{"containers of a pod", 8000, func(n int) []any {
			p := pod("containers", nil)
			p.Spec.Containers = each(n, func(i int) corev1.Container {
				return corev1.Container{Name: fmt.Sprint("c", i), Ports: []corev1.ContainerPort{containerPort(i)}}
			})
			return append(ingress(), p)
		}, 0},
		{"addresses of a node", 8000, func(n int) []any {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
			node.Status.Addresses = each(n, func(i int) corev1.NodeAddress {
				return corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: scattered(4, i).Addr().String()}
			})
			s := service(1)
			s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30080
			return append(ingress(), node, s, slice("slice", 1, 10))
		}, 0},
	}
}

// service is a Service with n ports.
func service(n int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "service"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIPs: []string{"10.96.0.1"},
			Ports: each(n, func(i int) corev1.ServicePort {
				return corev1.ServicePort{Name: portName(i), Port: int32(1 + i%65535)}
			}),
		},
	}
}

// slice is a slice of service with that many ports and endpoints.
func slice(name string, ports, endpoints int) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "service"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: each(ports, func(i int) discoveryv1.EndpointPort {
			name, number := portName(i), int32(1+i%65535)
			return discoveryv1.EndpointPort{Name: &name, Port: &number}
		}),
		Endpoints: each(endpoints, func(i int) discoveryv1.Endpoint {
			return discoveryv1.Endpoint{Addresses: []string{scattered(4, i).Addr().String()}}
		}),
	}
}

func serviceLists() []list {
	with := func(s *corev1.Service, change func(*corev1.Service)) []any {
		change(s)
		return []any{s, slice("slice", 1, 10)}
	}
	addresses := func(n int) []string {
		return each(n, func(i int) string { return scattered(4, i).Addr().String() })
	}
	ingressIPs := func(s *corev1.Service, n int) {
		s.Status.LoadBalancer.Ingress = each(n, func(i int) corev1.LoadBalancerIngress {
			return corev1.LoadBalancerIngress{IP: scattered(4, i).Addr().String()}
		})
	}
	return []list{
		{"ports of a Service", 8000, func(n int) []any { return []any{service(n), slice("slice", min(n, 100), 10)} }, 0},
		{"cluster IPs", 8000, func(n int) []any {
			return with(service(1), func(s *corev1.Service) { s.Spec.ClusterIPs = addresses(n) })
		}, 0},
		{"external IPs", 8000, func(n int) []any {
			return with(service(1), func(s *corev1.Service) { s.Spec.ExternalIPs = addresses(n) })
		}, 40_000},
		{"ingress of a load balancer", 8000, func(n int) []any {
			return with(service(1), func(s *corev1.Service) { ingressIPs(s, n) })
		}, 0},
		{"ingress with source ranges", 8000, func(n int) []any {
			return with(service(1), func(s *corev1.Service) {
				ingressIPs(s, n)
				s.Spec.LoadBalancerSourceRanges = []string{"128.0.0.0/1"}
			})
		}, 0},
		{"source ranges", 8000, func(n int) []any {
			return with(service(1), func(s *corev1.Service) {
				ingressIPs(s, 1)
				s.Spec.LoadBalancerSourceRanges = each(n, func(i int) string { return scattered(4, i).String() })
			})
		}, 60_000},
		{"ports of a Service with source ranges", 4000, func(n int) []any {
			return with(service(n), func(s *corev1.Service) {
				ingressIPs(s, 1)
				s.Spec.LoadBalancerSourceRanges = each(n, func(i int) string { return scattered(4, i).String() })
			})
		}, 0},
		{"endpoints of a slice", 1000, func(n int) []any { return []any{service(1), slice("slice", 1, n)} }, 0},
		{"ports of a slice", 100, func(n int) []any { return []any{service(n), slice("slice", n, 100)} }, 0},
		{"addresses of an endpoint", 100, func(n int) []any {
			s := slice("slice", 1, 100)
			for i := range s.Endpoints {
				s.Endpoints[i].Addresses = addresses(n)
			}
			return []any{service(1), s}
		}, 0},
		{"hints of an endpoint", 8000, func(n int) []any { // the API accepts eight, a manifest any number
			s := slice("slice", 1, 2)
			for i := range s.Endpoints {
				s.Endpoints[i].Hints = &discoveryv1.EndpointHints{
					ForZones: each(n, func(i int) discoveryv1.ForZone { return discoveryv1.ForZone{Name: fmt.Sprint("z", i)} }),
					ForNodes: each(n, func(i int) discoveryv1.ForNode { return discoveryv1.ForNode{Name: fmt.Sprint("n", i)} }),
				}
			}
			return []any{service(1), s}
		}, 0},
		{"slices of a Service", 2000, func(n int) []any {
			return append([]any{service(1)}, each(n, func(i int) any { return slice(fmt.Sprint("slice-", i), 1, 4) })...)
		}, 0},
	}
}
