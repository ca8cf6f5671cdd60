package lint

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
)

// Makers are what may create pods that are not among those of a Cluster, as the objects of operators do. The zero value has none.
type Makers struct {
	in map[string][]string // their names, by namespace of the pods
}

// Add adds something that may create pods in a namespace, by a name such as Prometheus/monitoring/k8s.
func (m *Makers) Add(namespace, name string) {
	if m.in == nil {
		m.in = map[string][]string{}
	}
	m.in[namespace] = append(m.in[namespace], name)
}

// shownMakers is how many names a finding lists.
const shownMakers = 2

// of names those of a namespace; "" if there are none, or if all pods are known.
func (m *Makers) of(namespace string) string {
	if m == nil || len(m.in[namespace]) == 0 {
		return ""
	}
	names := slices.Compact(slices.Sorted(slices.Values(m.in[namespace])))
	return object.Few(names, shownMakers)
}

// unselected finds that a policy selects no pod.
func (c *Checker) unselected(ref object.Ref, np *networkingv1.NetworkPolicy, spell *speller) Finding {
	if found, ok := c.hosts.subject(ref, np); ok {
		return found
	}
	hint := spell.suggest(labelcache.PodLabel, np.Namespace, &np.Spec.PodSelector)
	if by := c.makers.of(np.Namespace); by != "" && hint == "" {
		return newFinding(UnknownPods, ref, "spec.podSelector", "selects no pod that is known, but perhaps pods that are created by "+by)
	}
	return newFinding(SelectsNothing, ref, "spec.podSelector", "selects no pod at present"+hint)
}

// unmatched finds that a peer matches no pod.
func (c *Checker) unmatched(ref object.Ref, field string, peer *networkingv1.NetworkPolicyPeer, spell *speller) Finding {
	if found, ok := c.hosts.peer(ref, field, peer); ok {
		return found
	}
	hint := spell.peer(ref.Namespace, peer)
	if why := c.unknown(ref.Namespace, peer); why != "" && hint == "" {
		return newFinding(UnknownPods, ref, field, "matches no pod that is known, but perhaps "+why)
	}
	return newFinding(PeerMatchesNothing, ref, field, "matches no pod at present"+hint)
}

// unknown says which pods that are not known a peer may match; "" if there are none. Without a list of all namespaces, a selector that
// does not name them may always match more.
func (c *Checker) unknown(namespace string, peer *networkingv1.NetworkPolicyPeer) string {
	if c.makers == nil {
		return ""
	}
	names := []string{namespace}
	if peer.NamespaceSelector != nil {
		if names = namedSpaces(peer.NamespaceSelector); names == nil {
			return "pods of other namespaces"
		}
	}
	for _, name := range names {
		if by := c.makers.of(name); by != "" {
			return "pods that are created by " + by
		}
		if peer.NamespaceSelector != nil && !c.inhabited[name] {
			return "pods of namespace " + name + ", of which none are known"
		}
	}
	return ""
}

// hasUnknownPeers reports whether the rules of a policy at a path, spec for all of them, may match pods that are not known.
func (c *Checker) hasUnknownPeers(np *networkingv1.NetworkPolicy, path string) bool {
	has := func(rule string, peers []networkingv1.NetworkPolicyPeer) bool {
		return (path == "spec" || path == rule) && slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
			return p.IPBlock == nil && c.unknown(np.Namespace, &p) != ""
		})
	}
	for i := range np.Spec.Ingress {
		if has(fmt.Sprintf("spec.ingress[%d]", i), np.Spec.Ingress[i].From) {
			return true
		}
	}
	for i := range np.Spec.Egress {
		if has(fmt.Sprintf("spec.egress[%d]", i), np.Spec.Egress[i].To) {
			return true
		}
	}
	return false
}

// namedSpaces lists the namespaces that a selector demands by name; nil if it does not.
func namedSpaces(s *metav1.LabelSelector) []string {
	if name, ok := s.MatchLabels[corev1.LabelMetadataName]; ok {
		return []string{name}
	}
	for _, e := range s.MatchExpressions {
		if e.Key == corev1.LabelMetadataName && e.Operator == metav1.LabelSelectorOpIn {
			return e.Values
		}
	}
	return nil
}
