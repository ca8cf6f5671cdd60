package oracle

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// onPodNetwork reports whether policies can select p: it is on the pod network, not finished, and has an address. A
// finished pod keeps its status.podIP, though another pod may already have the address.
func onPodNetwork(p *corev1.Pod) bool {
	if p.Spec.HostNetwork {
		return false
	}
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return false
	}
	return len(podAddrs(p)) > 0
}

// podAddrs lists every address of a pod: status.podIPs, and status.podIP if it is missing there.
func podAddrs(p *corev1.Pod) []netip.Addr {
	var addrs []netip.Addr
	add := func(s string) {
		a, ok := parseAddr(s)
		if ok && !slices.Contains(addrs, a) && ofOnePod(a) {
			addrs = append(addrs, a)
		}
	}
	for _, ip := range p.Status.PodIPs {
		add(ip.IP)
	}
	add(p.Status.PodIP)
	return addrs
}

// ofOnePod reports whether a is an address that one pod on a network can have.
func ofOnePod(a netip.Addr) bool {
	return a.IsGlobalUnicast()
}

// resolveAddresses decides which pod owns an address that several pods have. A pod that is being deleted may have released
// it already, so the others take precedence. If more than one is left, the address belongs to no pod as a peer.
func (z *Frozen) resolveAddresses() {
	for a, pods := range z.byAddr {
		staying := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
		if len(staying) > 0 {
			pods = staying
		}
		z.byAddr[a] = pods
		if len(pods) == 1 {
			z.owner[a] = pods[0]
		}
	}
}

// namespaceLabels is the labels of n. The API server adds its name to them.
func namespaceLabels(n *corev1.Namespace) map[string]string {
	labels := maps.Clone(n.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1.LabelMetadataName] = n.Name
	return labels
}

// nodeAddrs lists the addresses from which a node's own traffic can come.
func nodeAddrs(n *corev1.Node) []netip.Addr {
	var addrs []netip.Addr
	for _, na := range n.Status.Addresses {
		if na.Type != corev1.NodeInternalIP && na.Type != corev1.NodeExternalIP {
			continue
		}
		if a, ok := parseAddr(na.Address); ok {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// namedPort finds the number that p declares for name and protocol. Containers come first, then the restartable init
// containers; the first match is used.
func namedPort(p *corev1.Pod, name string, protocol corev1.Protocol) (int32, bool) {
	for i := range p.Spec.Containers {
		if n, ok := containerPort(&p.Spec.Containers[i], name, protocol); ok {
			return n, true
		}
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		if n, ok := containerPort(c, name, protocol); ok {
			return n, true
		}
	}
	return 0, false
}

func containerPort(c *corev1.Container, name string, protocol corev1.Protocol) (int32, bool) {
	for _, cp := range c.Ports {
		declared := cp.Protocol
		if declared == "" {
			declared = corev1.ProtocolTCP
		}
		if cp.Name == name && declared == protocol {
			return cp.ContainerPort, true
		}
	}
	return 0, false
}
