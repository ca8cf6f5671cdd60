package world

import (
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/pkg/intent"
)

// MayAdmit reports whether the rule of a port that no selected pod declares may be meant for connections from a party to pods of the policy.
// A peer of other namespaces, and a block, may be.
func (w *World) MayAdmit(p *intent.Policy, u *intent.UndeclaredPort, from intent.Party) bool {
	np := w.policies[p.Origin.Ref().NamespacedName()]
	rule, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(u.Path, "spec.ingress["), "]"))
	if np == nil || err != nil || rule >= len(np.Spec.Ingress) {
		return false
	}
	peers := np.Spec.Ingress[rule].From
	source, ok := w.State.View.Endpoint(from.Key)
	return len(peers) == 0 || slices.ContainsFunc(peers, func(peer networkingv1.NetworkPolicyPeer) bool {
		if peer.PodSelector == nil || !ok {
			return peer.PodSelector == nil
		}
		selector, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
		return err == nil && selector.Matches(labels.Set(source.Labels)) && (peer.NamespaceSelector != nil || source.Key.Namespace == np.Namespace)
	})
}
