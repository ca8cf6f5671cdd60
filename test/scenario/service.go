package scenario

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// putService creates or replaces a Service according to its words.
func (st *stage) putService(fullName string, words []string) error {
	ns, name, ok := strings.Cut(fullName, "/")
	if !ok {
		return fmt.Errorf("expected namespace/name")
	}
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: object.KindService},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{}, Annotations: map[string]string{}},
	}
	for _, w := range words {
		if err := describeService(s, w); err != nil {
			return err
		}
	}
	if len(s.Spec.ClusterIPs) > 0 {
		s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	}
	return st.keepService(s)
}

func (st *stage) keepService(s *corev1.Service) error {
	st.services[s.Namespace+"/"+s.Name] = s
	return st.put(object.Ref{Kind: object.KindService, Namespace: s.Namespace, Name: s.Name}, s)
}

// describeService applies one word to a Service.
func describeService(s *corev1.Service, word string) error {
	if _, err := netip.ParseAddr(word); err == nil {
		s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, word)
		return nil
	}
	if port, ok := strings.CutPrefix(word, ":"); ok {
		return serve(s, port)
	}
	switch word {
	case "headless":
		s.Spec.ClusterIPs = []string{corev1.ClusterIPNone}
		return nil
	case "publish":
		s.Spec.PublishNotReadyAddresses = true
		return nil
	}
	switch t := corev1.ServiceType(word); t {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		s.Spec.Type = t
		return nil
	case corev1.ServiceTypeExternalName:
		s.Spec.Type, s.Spec.ExternalName = t, "elsewhere.example"
		return nil
	}
	key, value, ok := strings.Cut(word, "=")
	if !ok {
		return fmt.Errorf("%q says nothing about a service", word)
	}
	return setService(s, key, value)
}

// setService applies one word KEY=VALUE. Any other key is a label.
func setService(s *corev1.Service, key, value string) error {
	number := func() (int32, error) {
		n, err := strconv.ParseInt(value, 10, 32)
		return int32(n), err
	}
	switch key {
	case "external":
		s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, value)
	case "ingress":
		ip, mode, proxied := strings.Cut(value, "/")
		in := corev1.LoadBalancerIngress{IP: ip}
		if proxied {
			m := corev1.LoadBalancerIPMode(mode)
			in.IPMode = &m
		}
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, in)
	case "from":
		s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, value)
	case "internal":
		policy := corev1.ServiceInternalTrafficPolicy(value)
		s.Spec.InternalTrafficPolicy = &policy
	case "outside":
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicy(value)
	case "distribution":
		s.Spec.TrafficDistribution = &value
	case "network":
		s.Annotations["netloom.io/network"] = value
	case "vpc":
		s.Annotations["ovn.kubernetes.io/vpc"] = value
	case "affinity":
		n, err := number()
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &n}}
		return err
	case "health":
		n, err := number()
		s.Spec.HealthCheckNodePort = n
		return err
	case "created":
		n, err := number()
		s.CreationTimestamp = metav1.NewTime(time.Date(int(n), 1, 1, 0, 0, 0, 0, time.UTC))
		return err
	default:
		s.Labels[key] = value
	}
	return nil
}

// serve adds a port to a Service: [NAME=]NUMBER[:NODEPORT]/PROTOCOL.
func serve(s *corev1.Service, port string) error {
	name, rest, named := strings.Cut(port, "=")
	if !named {
		name, rest = "", port
	}
	numbers, protocol, ok := strings.Cut(rest, "/")
	number, nodePort, onNodes := strings.Cut(numbers, ":")
	p := corev1.ServicePort{Name: name, Protocol: corev1.Protocol(strings.ToUpper(protocol))}
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil {
		return fmt.Errorf("%q: expected [NAME=]NUMBER[:NODEPORT]/PROTOCOL", port)
	}
	p.Port = int32(n)
	if onNodes {
		n, err := strconv.ParseInt(nodePort, 10, 32)
		if err != nil {
			return fmt.Errorf("%q: expected [NAME=]NUMBER[:NODEPORT]/PROTOCOL", port)
		}
		p.NodePort = int32(n)
	}
	s.Spec.Ports = append(s.Spec.Ports, p)
	return nil
}
