package oracle

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// onPodNetwork says whether p is a pod that policies can speak of: on the pod network, not finished, with an address.
// A finished pod keeps its status.podIP, though the address may already be somebody else's.
func onPodNetwork(p *corev1.Pod) bool {
	if p.Spec.HostNetwork {
		return false
	}
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return false
	}
	return len(podAddrs(p)) > 0
}

// podAddrs lists every address of a pod: status.podIPs, and status.podIP should it be missing there.
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

// ofOnePod says whether a is an address that one pod on a network can have.
func ofOnePod(a netip.Addr) bool {
	return a.IsGlobalUnicast()
}

// resolveAddresses settles whose an address is that several pods have. A pod that is being deleted may have given it back
// already, so one that is not goes first. Where that leaves more than one, the address is no pod's as a peer.
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

// namespaceLabels is the labels of n. The API server puts its name among them.
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

// namedPort finds the number that p declares under name and protocol. Containers come first, then the init containers
// that keep running beside them; the first match counts.
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
