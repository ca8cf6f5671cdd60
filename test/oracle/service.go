package oracle

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// What has no field in the Kubernetes API.
const (
	// A Service with this label belongs to another proxy, whatever the value.
	labelProxyName = "service.kubernetes.io/service-proxy-name"
	// The logical network that a Service is in, and its older spelling.
	annotationNetwork      = "netloom.io/network"
	annotationNetworkAlias = "ovn.kubernetes.io/vpc"
)

// kind is how a Service is exposed at an address.
type kind int

const (
	clusterIP kind = iota
	externalIP
	loadBalancerIP
	nodePort
)

// frontendKey is what only one Service can have.
type frontendKey struct {
	network  string
	addr     netip.Addr
	protocol corev1.Protocol
	port     int32
}

func keyOf(f Flow) frontendKey { return frontendKey{f.Network, f.Dst.Addr, f.Protocol, f.Port} }

// frontend is where one port of a Service is exposed.
type frontend struct {
	service *corev1.Service
	port    *corev1.ServicePort
	kind    kind
	node    string // the node of the address; only for node ports
	guarded bool   // the source ranges apply: it is a load balancer's IP, whatever else it is
}

// claim is a frontend that a Service asks for.
type claim struct {
	frontend

	rank int // 0 if the API server gave it the address or the port, 1 if its status has the address, 2 if its author chose it
}

func rankOf(k kind) int {
	switch k {
	case clusterIP, nodePort:
		return 0
	case loadBalancerIP:
		return 1
	case externalIP:
	}
	return 2
}

// frontends finds the Service of each frontend. If several Services have the same one, the one with the lowest rank wins, then the first.
// Networks are separate, except for cluster IPs and node ports: these are unique in the cluster.
func frontends(c *Cluster, services []*corev1.Service) map[frontendKey]frontend {
	claims := map[frontendKey][]claim{} // by the key without its network, each Service once
	for _, s := range services {
		if !served(s) {
			continue
		}
		for i := range s.Spec.Ports {
			p := &s.Spec.Ports[i]
			add := func(a netip.Addr, number int32, k kind, node string) {
				if !hasFamily(s, a) {
					return
				}
				place := frontendKey{"", a, protocolOf(p.Protocol), number}
				list := claims[place]
				if n := len(list); n > 0 && list[n-1].service == s {
					if last := &list[n-1]; last.port == p {
						last.rank, last.guarded = min(last.rank, rankOf(k)), last.guarded || k == loadBalancerIP
					}
					return
				}
				claims[place] = append(list, claim{frontend{s, p, k, node, k == loadBalancerIP}, rankOf(k)})
			}
			expose(c, s, p, add)
		}
	}
	all := map[frontendKey]frontend{}
	for key, list := range claims {
		slices.SortStableFunc(list, func(a, b claim) int { return a.rank - b.rank })
		for i, one := range list {
			key.network = network(one.service)
			if _, taken := all[key]; !taken && (i == 0 || list[0].rank > 0) {
				all[key] = one.frontend
			}
		}
	}
	return all
}

// expose lists every address at which a port of s is available.
func expose(c *Cluster, s *corev1.Service, p *corev1.ServicePort, add func(netip.Addr, int32, kind, string)) {
	for _, a := range clusterIPs(s) {
		add(a, p.Port, clusterIP, "")
	}
	for _, text := range s.Spec.ExternalIPs {
		if a, ok := parseAddr(text); ok {
			add(a, p.Port, externalIP, "")
		}
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		for _, in := range s.Status.LoadBalancer.Ingress {
			// In mode Proxy traffic arrives with another destination.
			proxied := in.IPMode != nil && *in.IPMode == corev1.LoadBalancerIPModeProxy
			if a, ok := parseAddr(in.IP); ok && !proxied {
				add(a, p.Port, loadBalancerIP, "")
			}
		}
	}
	// LoadBalancer includes NodePort.
	onNodes := s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
	if p.NodePort == 0 || !onNodes {
		return
	}
	byName := func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) }
	for _, n := range slices.SortedFunc(slices.Values(c.Nodes), byName) {
		for _, a := range nodeAddrs(n) {
			add(a, p.NodePort, nodePort, n.Name)
		}
	}
}

// older orders Services by age, and those of the same age by name. One without an age is younger than those that have
// one.
func older(a, b *corev1.Service) int {
	if a.CreationTimestamp.IsZero() != b.CreationTimestamp.IsZero() {
		return boolOrder(a.CreationTimestamp.IsZero())
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// boolOrder is 1 if the first of two comes last.
func boolOrder(last bool) int {
	if last {
		return 1
	}
	return -1
}

// served reports whether s has a cluster IP and does not belong to another proxy.
func served(s *corev1.Service) bool {
	_, others := s.Labels[labelProxyName]
	_, headless := s.Labels[corev1.IsHeadlessService]
	return !others && !headless && s.Spec.Type != corev1.ServiceTypeExternalName && len(clusterIPs(s)) > 0
}

// clusterIPs is spec.clusterIPs, which is initialised from spec.clusterIP. "None" and "" are not addresses.
func clusterIPs(s *corev1.Service) []netip.Addr {
	texts := s.Spec.ClusterIPs
	if len(texts) == 0 {
		texts = []string{s.Spec.ClusterIP}
	}
	var addrs []netip.Addr
	for _, text := range texts {
		if a, ok := parseAddr(text); ok {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// hasFamily reports whether s is of the family of a. The cluster IPs correspond to spec.ipFamilies.
func hasFamily(s *corev1.Service, a netip.Addr) bool {
	return slices.ContainsFunc(clusterIPs(s), func(own netip.Addr) bool { return own.Is4() == a.Is4() })
}

func network(s *corev1.Service) string {
	if n, ok := s.Annotations[annotationNetwork]; ok {
		return n
	}
	return s.Annotations[annotationNetworkAlias]
}

// protocolOf is p with its default.
func protocolOf(p corev1.Protocol) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return p
}
