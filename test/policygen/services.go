package policygen

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// otherNetwork is the logical network of some Services.
const otherNetwork = "blue"

// serve adds a Service with its slices. Occasionally the slices come without it.
func (g *generator) serve(ns, name string) {
	s := g.service(ns, name)
	if !g.chance(4) {
		g.c.Services = append(g.c.Services, s)
	}
	g.c.Slices = append(g.c.Slices, g.slicesOf(s)...)
}

// service makes a Service of any type. The properties of Services come from small alphabets, so two may have the same
// address.
func (g *generator) service(ns, name string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: g.meta(ns, name, g.labels(podAlphabet()))}
	s.CreationTimestamp = metav1.NewTime(time.Unix(1_700_000_000+int64(g.rng.IntN(4)), 0).UTC())
	s.Annotations = g.networkAnnotation()
	g.expose(s)
	return s
}

func (g *generator) networkAnnotation() map[string]string {
	switch {
	case g.chance(6):
		return map[string]string{"netloom.io/network": otherNetwork}
	case g.chance(4):
		return map[string]string{"ovn.kubernetes.io/vpc": otherNetwork}
	default:
		return nil
	}
}

// expose sets the type of s, with matching addresses, ports and policies.
func (g *generator) expose(s *corev1.Service) {
	s.Spec, s.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	delete(s.Labels, "service.kubernetes.io/service-proxy-name")
	spec := &s.Spec
	spec.Type = pick(g, []corev1.ServiceType{
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer,
	})
	spec.Selector = map[string]string{"app": pick(g, podAlphabet()[0].values)}
	g.servicePorts(s)
	switch {
	case g.chance(4):
		spec.Type, spec.ExternalName, spec.Ports = corev1.ServiceTypeExternalName, "example.com", nil
		return
	case g.chance(4): //nolint:gocritic // another draw
		spec.Type, spec.ClusterIP, spec.ClusterIPs = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone, []string{corev1.ClusterIPNone}
		dropNodePorts(s)
		return
	case g.chance(96):
		g.clusterIPs(s)
	}
	if g.chance(4) {
		s.Labels["service.kubernetes.io/service-proxy-name"] = "someone-else"
	}
	internal := corev1.ServiceInternalTrafficPolicyCluster
	if g.chance(20) {
		internal = corev1.ServiceInternalTrafficPolicyLocal
	}
	spec.InternalTrafficPolicy = &internal
	spec.SessionAffinity = corev1.ServiceAffinityNone
	if g.chance(20) {
		timeout := pick(g, []int32{1, 10800, 65535, 65536, 86400})
		spec.SessionAffinity = corev1.ServiceAffinityClientIP
		spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
	}
	spec.PublishNotReadyAddresses = g.chance(10)
	g.outside(s)
}

// clusterIPs gives s an address of one family of the cluster or both; rarely that of another Service.
func (g *generator) clusterIPs(s *corev1.Service) {
	families := []bool{g.families != IPv6Only} // of IPv4
	if g.families == DualStack && g.chance(70) {
		families = []bool{true, false}
	}
	if g.chance(20) {
		slices.Reverse(families)
	}
	for _, v4 := range families {
		i := 1 + g.rng.IntN(250)
		for !g.chance(4) && g.taken(serviceAddr(i, v4)) {
			i++
		}
		s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, serviceAddr(i, v4))
		family := corev1.IPv6Protocol
		if v4 {
			family = corev1.IPv4Protocol
		}
		s.Spec.IPFamilies = append(s.Spec.IPFamilies, family)
	}
	s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	policy := corev1.IPFamilyPolicySingleStack
	if len(families) > 1 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	s.Spec.IPFamilyPolicy = &policy
}

func serviceAddr(i int, v4 bool) string {
	if v4 {
		return fmt.Sprintf("10.96.%d.%d", i>>8, i&255)
	}
	return fmt.Sprintf("fd00:96::%x", i)
}

func (g *generator) taken(ip string) bool {
	return slices.ContainsFunc(g.c.Services, func(s *corev1.Service) bool { return slices.Contains(s.Spec.ClusterIPs, ip) })
}

// servicePorts adds one to three ports to s; a single one may have no name.
func (g *generator) servicePorts(s *corev1.Service) {
	type socket struct {
		protocol corev1.Protocol
		port     int32
	}
	taken := map[socket]bool{}
	names := portNames()
	for _, name := range names[:1+g.rng.IntN(len(names))] {
		p := corev1.ServicePort{Name: name, Protocol: pick(g, protocols()), Port: pick(g, portNumbers())}
		if taken[socket{p.Protocol, p.Port}] {
			continue
		}
		taken[socket{p.Protocol, p.Port}] = true
		p.TargetPort = intstr.FromInt32(pick(g, portNumbers()))
		if g.chance(40) {
			p.TargetPort = intstr.FromString(pick(g, names))
		}
		if s.Spec.Type != corev1.ServiceTypeClusterIP && g.chance(90) {
			p.NodePort = g.nodePort(p.Protocol)
		}
		s.Spec.Ports = append(s.Spec.Ports, p)
	}
	if len(s.Spec.Ports) == 1 && g.chance(50) {
		s.Spec.Ports[0].Name = ""
	}
}

// nodePort is an unused number; rarely one that may be taken.
func (g *generator) nodePort(protocol corev1.Protocol) int32 {
	for {
		n := 30000 + g.rng.Int32N(60)
		taken := slices.ContainsFunc(g.c.Services, func(s *corev1.Service) bool {
			return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
				return p.NodePort == n && p.Protocol == protocol
			})
		})
		if !taken || g.chance(3) {
			return n
		}
	}
}

func dropNodePorts(s *corev1.Service) {
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].NodePort = 0
	}
}

// outside sets the properties of s for senders from outside.
func (g *generator) outside(s *corev1.Service) {
	spec := &s.Spec
	if g.chance(35) {
		for range 1 + g.rng.IntN(2) {
			spec.ExternalIPs = append(spec.ExternalIPs, g.outerAddr(g.rng.IntN(4)))
		}
		slices.Sort(spec.ExternalIPs)
		spec.ExternalIPs = slices.Compact(spec.ExternalIPs)
	}
	if spec.Type != corev1.ServiceTypeClusterIP || len(spec.ExternalIPs) > 0 {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
		if g.chance(40) {
			spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		}
	}
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	if spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = 31000 + g.rng.Int32N(1000)
	}
	for range 1 + g.rng.IntN(2) {
		in := corev1.LoadBalancerIngress{IP: g.outerAddr(10 + g.rng.IntN(4))}
		if g.chance(50) {
			mode := corev1.LoadBalancerIPModeVIP
			if g.chance(30) {
				mode = corev1.LoadBalancerIPModeProxy
			}
			in.IPMode = &mode
		}
		if g.chance(10) {
			in = corev1.LoadBalancerIngress{Hostname: "lb.example.com"}
		}
		same := func(o corev1.LoadBalancerIngress) bool { return o.IP == in.IP }
		if !slices.ContainsFunc(s.Status.LoadBalancer.Ingress, same) {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, in)
		}
	}
	if g.chance(40) {
		for range 1 + g.rng.IntN(3) {
			spec.LoadBalancerSourceRanges = append(spec.LoadBalancerSourceRanges, g.sourceRange())
		}
	}
}

// sourceRange is a prefix around a possible sender.
func (g *generator) sourceRange() string { return g.prefix().Masked().String() }

// outerAddr is one of a few addresses outside, of a family that the cluster has.
func (g *generator) outerAddr(i int) string {
	if g.families == IPv6Only || g.families == DualStack && g.chance(30) {
		return fmt.Sprintf("2001:db8:96::%x", i+1)
	}
	if g.chance(3) {
		return pick(g, []string{"10.0.0.1", "10.0.0.2"}) // a node's
	}
	return fmt.Sprintf("198.51.100.%d", i+1)
}

// frontendAddrs lists every possible address of s.
func (g *generator) frontendAddrs(s *corev1.Service) []netip.Addr {
	var addrs []netip.Addr
	add := func(text string) {
		if a, err := netip.ParseAddr(text); err == nil {
			addrs = append(addrs, a)
		}
	}
	for _, ip := range slices.Concat(s.Spec.ClusterIPs, s.Spec.ExternalIPs) {
		add(ip)
	}
	for _, in := range s.Status.LoadBalancer.Ingress {
		add(in.IP)
	}
	return addrs
}
