package lint

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/address"
)

// hostPods are the pods on the networks of their nodes, which no policy matches. Those of one DaemonSet have nearly the same labels, so
// there are few kinds of them.
type hostPods struct {
	kindOf     map[object.Key]string
	kinds      map[string]*hostKind
	namespaces map[string]labels.Set
}

// hostKind are the pods of one namespace with the same labels.
type hostKind struct {
	namespace string
	labels    labels.Set
	pods      map[string]string // the addresses of their nodes, by name; "" if unknown
}

// revisionLabels differ between pods that are alike otherwise.
var revisionLabels = []string{"controller-revision-hash", "pod-template-generation"}

func newHostPods() *hostPods {
	return &hostPods{kindOf: map[object.Key]string{}, kinds: map[string]*hostKind{}, namespaces: map[string]labels.Set{}}
}

// put adds or replaces a pod or a namespace.
func (h *hostPods) put(o metav1.Object) {
	switch o := o.(type) {
	case *corev1.Namespace:
		h.namespaces[o.Name] = o.Labels
	case *corev1.Pod:
		key := object.Key{Namespace: o.Namespace, Name: o.Name}
		h.remove(object.Ref{Kind: object.KindPod, Namespace: o.Namespace, Name: o.Name})
		if !o.Spec.HostNetwork || o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed {
			return
		}
		kept := maps.Clone(o.Labels)
		for _, l := range revisionLabels {
			delete(kept, l)
		}
		kind := o.Namespace + " " + labels.Set(kept).String()
		if h.kinds[kind] == nil {
			h.kinds[kind] = &hostKind{namespace: o.Namespace, labels: kept, pods: map[string]string{}}
		}
		h.kinds[kind].pods[o.Name] = o.Status.PodIP
		if len(o.Status.PodIPs) > 0 {
			h.kinds[kind].pods[o.Name] = o.Status.PodIPs[0].IP
		}
		h.kindOf[key] = kind
	}
}

// remove removes a pod or a namespace.
func (h *hostPods) remove(ref object.Ref) {
	if ref.Kind == object.KindNamespace {
		delete(h.namespaces, ref.Name)
		return
	}
	key := object.Key{Namespace: ref.Namespace, Name: ref.Name}
	kind, known := h.kindOf[key]
	if !known || ref.Kind != object.KindPod {
		return
	}
	delete(h.kindOf, key)
	delete(h.kinds[kind].pods, key.Name)
	if len(h.kinds[kind].pods) == 0 {
		delete(h.kinds, kind)
	}
}

// selected finds a pod that a selector matches, the first by name. The namespace is that of the pods unless there is a selector of
// namespaces.
func (h *hostPods) selected(namespace string, namespaces, pods *metav1.LabelSelector) (name, node string) {
	of, err := metav1.LabelSelectorAsSelector(pods)
	in, err2 := metav1.LabelSelectorAsSelector(namespaces)
	if err != nil || err2 != nil {
		return "", ""
	}
	if pods == nil {
		of = labels.Everything()
	}
	for _, k := range h.kinds {
		if namespaces == nil && k.namespace != namespace || namespaces != nil && !in.Matches(h.labelsOf(k.namespace)) || !of.Matches(k.labels) {
			continue
		}
		first := slices.Min(slices.Collect(maps.Keys(k.pods)))
		if full := k.namespace + "/" + first; name == "" || full < name {
			name, node = full, k.pods[first]
		}
	}
	return name, node
}

// labelsOf returns the labels of a namespace, which always has its name among them.
func (h *hostPods) labelsOf(namespace string) labels.Set {
	out := labels.Set{corev1.LabelMetadataName: namespace}
	maps.Copy(out, h.namespaces[namespace])
	return out
}

// subject finds that a policy selects only such pods.
func (h *hostPods) subject(ref object.Ref, np *networkingv1.NetworkPolicy) (Finding, bool) {
	name, _ := h.selected(np.Namespace, nil, &np.Spec.PodSelector)
	return newFinding(HostNetwork, ref, "spec.podSelector", fmt.Sprintf("selects only pods on the networks of their nodes, such as %s: policies do not apply to them", name)), name != ""
}

// peer finds that a peer selects only such pods.
func (h *hostPods) peer(ref object.Ref, field string, p *networkingv1.NetworkPolicyPeer) (Finding, bool) {
	name, node := h.selected(ref.Namespace, p.NamespaceSelector, p.PodSelector)
	fix := "the addresses of the nodes in an ipBlock"
	if a, err := address.Parse(node); err == nil {
		fix += ", such as " + netip.PrefixFrom(a, a.BitLen()).String()
	}
	return newFinding(HostNetwork, ref, field, fmt.Sprintf(
		"selects only pods on the networks of their nodes, such as %s, which no selector matches: name %s", name, fix)), name != ""
}
