package oracle

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readSubject reads the subject of a policy. One that cannot be read may be any pod: readable is false then.
func (z *Frozen) readSubject(f peerFields) (selected func(*corev1.Pod) bool, readable bool) {
	if f.namespaces == nil && f.pods == nil || f.namespaces != nil && f.pods != nil {
		return z.inSomeNamespace, false
	}
	match, ok := z.readPeer(&f)
	if !ok {
		return z.inSomeNamespace, false
	}
	return func(p *corev1.Pod) bool { return match(p, netip.Addr{}) }, true
}

// inSomeNamespace reports whether the namespace of a pod exists.
func (z *Frozen) inSomeNamespace(p *corev1.Pod) bool {
	_, exists := z.spaceLabels(p)
	return exists
}

// readPeer reads a peer, of which exactly one field is set.
func (z *Frozen) readPeer(f *peerFields) (peerMatch, bool) {
	fields := 0
	for _, set := range []bool{f.namespaces != nil, f.pods != nil, f.nodes != nil, len(f.networks) > 0, len(f.domains) > 0} {
		if set {
			fields++
		}
	}
	switch {
	case fields != 1:
		return nil, false
	case f.namespaces != nil:
		return z.readPods(f.namespaces, &metav1.LabelSelector{})
	case f.pods != nil:
		return z.readPods(f.podNamespaces, f.pods)
	case f.nodes != nil:
		return z.readNodes(f.nodes)
	case len(f.networks) > 0:
		return readNetworks(f.networks)
	default:
		return z.readDomains(f.domains), true
	}
}

// readPods reads a peer that selects pods. Those of namespaces that do not exist, and those on the host network, are not
// selected.
func (z *Frozen) readPods(namespaces, pods *metav1.LabelSelector) (peerMatch, bool) {
	return func(pod *corev1.Pod, _ netip.Addr) bool {
		if pod == nil || !z.reaches(pod, namespaces, pods) {
			return false
		}
		labels, exists := z.spaceLabels(pod)
		return exists && selects(namespaces, labels) && selects(pods, z.podLabels(pod))
	}, isSelector(namespaces) && isSelector(pods)
}

// readNodes reads a peer that selects nodes by their labels, and matches the addresses of their status.
func (z *Frozen) readNodes(s *metav1.LabelSelector) (peerMatch, bool) {
	return func(_ *corev1.Pod, a netip.Addr) bool {
		return slices.ContainsFunc(z.nodeList, func(n *corev1.Node) bool {
			return selects(s, n.Labels) && slices.ContainsFunc(n.Status.Addresses, func(na corev1.NodeAddress) bool {
				own, ok := parseAddr(na.Address)
				return ok && own == a
			})
		})
	}, isSelector(s)
}

// readNetworks reads a peer that matches networks: pods in them too.
func readNetworks(networks []string) (peerMatch, bool) {
	var all []netip.Prefix
	for _, n := range networks {
		prefix, ok := parsePrefix(n)
		if !ok {
			return nil, false
		}
		all = append(all, prefix)
	}
	return func(_ *corev1.Pod, a netip.Addr) bool {
		return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
	}, true
}

// readDomains reads a peer that matches what DNS answers for names. It cannot be asked for a wildcard, which matches nothing.
func (z *Frozen) readDomains(names []string) peerMatch {
	return func(_ *corev1.Pod, a netip.Addr) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(z.answers[canonicalName(name)], a) })
	}
}

// canonicalName is a DNS name without its final dot, in lower case.
func canonicalName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// isSelector reports whether a selector can be understood: each requirement has an operator that exists, and values exactly
// if the operator compares with some.
func isSelector(s *metav1.LabelSelector) bool {
	return !slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		switch r.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			return len(r.Values) == 0
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			return len(r.Values) > 0
		default:
			return true
		}
	})
}

// readPort reads an element of the protocols or ports of a rule. A name is that of a container's port, of any protocol.
func readPort(f *portFields) (portMatch, bool) {
	if f.fields != 1 {
		return nil, false
	}
	if name := f.name; name != "" {
		return func(pod *corev1.Pod, flow Flow) bool {
			if pod == nil {
				return false
			}
			number, ok := namedPort(pod, name, flow.Protocol)
			return ok && number == flow.Port
		}, true
	}
	protocol, first, last := f.protocol, f.first, f.last
	return func(_ *corev1.Pod, flow Flow) bool {
		return flow.Protocol == protocol && first <= flow.Port && flow.Port <= last
	}, protocol != "" && 1 <= first && first <= last && last <= 65535
}
