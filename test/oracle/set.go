package oracle

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterKey is the label by which selectors name clusters of a set.
const clusterKey = "netloom.io/cluster"

// addPods adds the pods of a cluster; "" is the own one.
func (z *Frozen) addPods(pods []*corev1.Pod, cluster string) {
	for _, p := range pods {
		if !onPodNetwork(p) {
			continue
		}
		if cluster == "" {
			z.byName[p.Namespace+"/"+p.Name] = p
		} else {
			z.byName[cluster+"/"+p.Namespace+"/"+p.Name] = p
			z.foreign[p] = cluster
		}
		for _, a := range podAddrs(p) {
			z.byAddr[a] = append(z.byAddr[a], p)
		}
	}
}

// addNamespaces adds the namespaces of a cluster; "" is the own one.
func (z *Frozen) addNamespaces(namespaces []*corev1.Namespace, cluster string) {
	for _, n := range namespaces {
		z.namespaces[place{cluster, n.Name}] = namespaceLabels(n)
	}
}

// place is a namespace of a cluster.
type place struct{ cluster, namespace string }

// joinSet adds the other clusters of a set.
func (z *Frozen) joinSet(s *Set) {
	if s == nil {
		return
	}
	z.set = s
	for name, other := range s.Others {
		z.addPods(other.Pods, name)
		z.addNamespaces(other.Namespaces, name)
	}
}

// own leaves out the pods of other clusters, which no policy of this one has as a subject.
func (z *Frozen) own(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return z.foreign[p] != "" })
}

// inCluster adds the name of the cluster of a pod to labels of it or of its namespace.
func (z *Frozen) inCluster(labels map[string]string, p *corev1.Pod) map[string]string {
	if z.set == nil {
		return labels
	}
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[clusterKey] = z.set.Own
	if cluster := z.foreign[p]; cluster != "" {
		out[clusterKey] = cluster
	}
	return out
}

// podLabels returns the labels of a pod as selectors see them.
func (z *Frozen) podLabels(p *corev1.Pod) map[string]string { return z.inCluster(p.Labels, p) }

// spaceLabels returns the labels of the namespace of a pod as selectors see them; false if the namespace does not exist.
func (z *Frozen) spaceLabels(p *corev1.Pod) (map[string]string, bool) {
	labels, exists := z.namespaces[place{z.foreign[p], p.Namespace}]
	return z.inCluster(labels, p), exists
}

// reaches reports whether selectors of peers can select a pod at all. Those that extend to all clusters, because they name
// clusters or because peers are everywhere, select pods of namespaces that exist.
func (z *Frozen) reaches(p *corev1.Pod, selectors ...*metav1.LabelSelector) bool {
	if z.set == nil || !z.set.Everywhere && !slices.ContainsFunc(selectors, namesCluster) {
		return z.foreign[p] == ""
	}
	_, exists := z.spaceLabels(p)
	return exists
}

// admitsNames reports whether the peers of r include pod at address a in a way that makes its named ports known. A pod of another
// cluster that only its address makes a peer is like any address without a pod, unless peers are everywhere.
func (z *Frozen) admitsNames(ns string, r *rule, pod *corev1.Pod, a netip.Addr) bool {
	if z.foreign[pod] == "" || z.set.Everywhere {
		return z.admitsPod(ns, r, pod, a)
	}
	return slices.ContainsFunc(r.peers, func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock == nil && z.isPeer(ns, &p, pod, a)
	})
}

// isSubject reports whether the selector of a policy selects a pod of its namespace. If it names clusters, the namespace has to
// exist.
func (z *Frozen) isSubject(s *metav1.LabelSelector, p *corev1.Pod) bool {
	if z.set != nil && namesCluster(s) {
		if _, exists := z.spaceLabels(p); !exists {
			return false
		}
	}
	return selects(s, z.podLabels(p))
}

func namesCluster(s *metav1.LabelSelector) bool {
	if s == nil {
		return false
	}
	_, named := s.MatchLabels[clusterKey]
	return named || slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == clusterKey })
}
