package translator

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/address"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/sdwan"
)

// putPod puts a pod into the label cache, or removes it if it cannot have traffic of its own. One that is a CNF is also kept
// as such.
func (t *Translator) putPod(pod *corev1.Pod) {
	key := object.Key{Cluster: t.source.Cluster, Namespace: pod.Namespace, Name: pod.Name}
	faults := field.Faults{Of: t.source.Origin(object.KindPod, pod)}
	endpoint, ok := endpointOfPod(key, pod, &faults)
	var addrs []netip.Addr
	if sdwan.IsDevice(pod) {
		addrs = podAddrs(pod, &field.Faults{}) // problems are those of the pod as an endpoint
	}
	t.sdwan.PutPod(pod, addrs)
	if !ok {
		t.dropPod(key)
		return
	}
	t.limit(key, pod, &endpoint, &faults)
	t.putEndpoint(key, &podEntry{endpoint: &endpoint, problems: faults.List, leaving: pod.DeletionTimestamp != nil})
}

// dropPod removes what is known of a pod as an endpoint.
func (t *Translator) dropPod(key object.Key) {
	ref := t.podRef(key)
	t.unlimit(ref)
	t.putEndpoint(key, nil)
	t.problems.Set(ref, nil)
}

// podRef is the reference under which the problems of a pod are kept.
func (t *Translator) podRef(key object.Key) object.Ref {
	if key.Cluster != t.source.Cluster {
		return peerRef(key)
	}
	return object.Ref{Kind: object.KindPod, Namespace: key.Namespace, Name: key.Name}
}

// endpointOfPod returns the pod as the label cache knows it. It returns false for a pod that is never a subject or peer:
// on the host's network, or finished (its address may already belong to another). A pod without an address is not a peer yet, but it is a
// subject: its isolation is in place before it sends anything.
func endpointOfPod(key object.Key, pod *corev1.Pod, faults *field.Faults) (labelcache.Endpoint, bool) {
	if pod.Spec.HostNetwork || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return labelcache.Endpoint{}, false
	}
	return labelcache.Endpoint{
		Key:    key,
		Labels: pod.Labels,
		Addrs:  podAddrs(pod, faults),
		Ports:  namedPorts(pod),
		Node:   pod.Spec.NodeName,
	}, true
}

// podAddrs lists status.podIPs, or status.podIP if that list is empty.
func podAddrs(pod *corev1.Pod, faults *field.Faults) []netip.Addr {
	ips := pod.Status.PodIPs
	if len(ips) == 0 && pod.Status.PodIP != "" {
		ips = []corev1.PodIP{{IP: pod.Status.PodIP}}
	}
	addrs, seen := make([]netip.Addr, 0, len(ips)), make(map[netip.Addr]bool, len(ips))
	for _, ip := range ips {
		a, err := address.Parse(ip.IP)
		if err != nil {
			faults.Add("status.podIPs", "%q is not an IP address", ip.IP)
			continue
		}
		if !isPodAddr(a) {
			faults.Add("status.podIPs", "%s is a loopback, link-local, multicast or unspecified address; it is ignored", a)
			continue
		}
		if !seen[a] {
			seen[a] = true
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// isPodAddr reports whether a can be the address of one pod on a network: it follows the rule of the API server for the
// addresses of endpoints (ValidateEndpointIP), and also excludes the broadcast address.
func isPodAddr(a netip.Addr) bool { return a.IsGlobalUnicast() }

// namedPorts lists the ports with a name in an order in which the first of a name and protocol counts: containers, then
// init containers that keep running alongside them.
func namedPorts(pod *corev1.Pod) []labelcache.NamedPort {
	var ports []labelcache.NamedPort
	take := func(c *corev1.Container) {
		for i := range c.Ports {
			p := &c.Ports[i]
			proto, ok := field.Protocol(&p.Protocol)
			if p.Name == "" || !ok || p.ContainerPort < 1 || p.ContainerPort > 65535 {
				continue
			}
			ports = append(ports, labelcache.NamedPort{
				Name: p.Name, Protocol: labelcache.Protocol(proto), Number: uint16(p.ContainerPort),
			})
		}
	}
	for i := range pod.Spec.Containers {
		take(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			take(c)
		}
	}
	return ports
}
