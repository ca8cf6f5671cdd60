package advice

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/object"
)

// NewClusterPolicy returns an empty policy of a cluster-wide kind; nil for any other kind.
func NewClusterPolicy(kind string) metav1.Object {
	switch kind {
	case object.KindClusterNetworkPolicy:
		return &policyv1alpha2.ClusterNetworkPolicy{}
	case object.KindAdminNetworkPolicy:
		return &policyv1alpha1.AdminNetworkPolicy{}
	case object.KindBaselineAdminNetworkPolicy:
		return &policyv1alpha1.BaselineAdminNetworkPolicy{}
	default:
		return nil
	}
}
