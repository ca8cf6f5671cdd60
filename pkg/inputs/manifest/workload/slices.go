package workload

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Slices makes the EndpointSlices that a cluster would have for a Service with these pods: one for each family and each set of numbers that
// named ports have.
func Slices(s *corev1.Service, pods []*corev1.Pod) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	at := map[string]*discoveryv1.EndpointSlice{}
	for _, p := range pods {
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		ports, key := portsOf(s, p)
		for _, ip := range p.Status.PodIPs {
			addr, err := netip.ParseAddr(ip.IP)
			if err != nil {
				continue
			}
			family := discoveryv1.AddressTypeIPv6
			if addr.Is4() {
				family = discoveryv1.AddressTypeIPv4
			}
			slice := at[string(family)+key]
			if slice == nil {
				slice = newSlice(s, len(out), family, ports)
				at[string(family)+key] = slice
				out = append(out, slice)
			}
			slice.Endpoints = append(slice.Endpoints, endpointOf(p, addr))
		}
	}
	return out
}

func newSlice(s *corev1.Service, n int, family discoveryv1.AddressType, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: fmt.Sprintf("svc/%s+%d", s.Name, n), // which no object has
			Labels: map[string]string{discoveryv1.LabelServiceName: s.Name},
		},
		AddressType: family,
		Ports:       ports,
	}
}

func endpointOf(p *corev1.Pod, addr netip.Addr) discoveryv1.Endpoint {
	ready := true
	e := discoveryv1.Endpoint{
		Addresses:  []string{addr.String()},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name},
	}
	if p.Spec.NodeName != "" {
		e.NodeName = &p.Spec.NodeName
	}
	return e
}

// portsOf resolves the ports of a Service at a pod. A named port that the pod does not have is left out, as in a cluster.
func portsOf(s *corev1.Service, p *corev1.Pod) (ports []discoveryv1.EndpointPort, key string) {
	var words []string
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		protocol := port.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		number := port.TargetPort.IntVal
		if port.TargetPort.Type == intstr.String {
			number = numberOf(p, port.TargetPort.StrVal, protocol)
		}
		if number == 0 && port.TargetPort == (intstr.IntOrString{}) {
			number = port.Port
		}
		if number == 0 {
			continue
		}
		name := port.Name
		ports = append(ports, discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &number})
		words = append(words, fmt.Sprintf("%s/%d", protocol, number))
	}
	return ports, strings.Join(words, " ")
}

// numberOf finds a port of a pod by its name; 0 if it has none.
func numberOf(p *corev1.Pod, name string, protocol corev1.Protocol) int32 {
	for _, containers := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range containers {
			for _, port := range containers[i].Ports {
				if port.Name == name && (port.Protocol == protocol || port.Protocol == "" && protocol == corev1.ProtocolTCP) {
					return port.ContainerPort
				}
			}
		}
	}
	return 0
}
