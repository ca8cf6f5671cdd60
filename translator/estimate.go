package translator

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/translator/budget"
)

// Estimate is about how many bytes it takes to put an object into force, as budget.Account.Cost counts them, from its size alone. It is
// quick. Of an object of another kind, or nil, it is what any object takes.
func (t *Translator) Estimate(o any) int64 {
	switch o := o.(type) {
	case *networkingv1.NetworkPolicy:
		return t.policies.Estimate(o)
	case *corev1.Service:
		return budget.Estimate(budget.Frontends, len(o.Spec.Ports)*(1+len(o.Spec.ClusterIPs)+len(o.Spec.ExternalIPs)))
	case *discoveryv1.EndpointSlice:
		return budget.Estimate(budget.Backends, len(o.Endpoints)*len(o.Ports))
	default:
		if policy, ok := o.(metav1.Object); ok {
			return t.policies.EstimateClusterWide(policy)
		}
		return budget.Estimate(budget.Prefixes, 0)
	}
}
