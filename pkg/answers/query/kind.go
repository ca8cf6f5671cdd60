package query

import (
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// Kind is a kind of object that a question may name.
type Kind string

// The kinds. Their words are those of kubectl.
const (
	KindPod     Kind = "pod"
	KindPolicy  Kind = "networkpolicy"
	KindService Kind = "service"
	KindNode    Kind = "node"
	kindAddress Kind = "address"

	KindClusterPolicy  Kind = "clusternetworkpolicy"
	KindAdminPolicy    Kind = "adminnetworkpolicy"
	KindBaselinePolicy Kind = "baselineadminnetworkpolicy"
)

// ClusterPolicyKinds lists the kinds of cluster-wide policies.
func ClusterPolicyKinds() []Kind {
	return []Kind{KindClusterPolicy, KindAdminPolicy, KindBaselinePolicy}
}

// objectKind returns the kind of a cluster-wide policy as in manifests; "" for every other kind.
func (k Kind) objectKind() string {
	switch k {
	case KindClusterPolicy:
		return object.KindClusterNetworkPolicy
	case KindAdminPolicy:
		return object.KindAdminNetworkPolicy
	case KindBaselinePolicy:
		return object.KindBaselineAdminNetworkPolicy
	case KindPod, KindPolicy, KindService, KindNode, kindAddress:
	}
	return ""
}

// kindOf reads a kind, in any case; ok is false for any other word.
func kindOf(word string) (Kind, bool) {
	switch strings.ToLower(word) {
	case "pod", "pods", "po":
		return KindPod, true
	case "networkpolicy", "networkpolicies", "netpol", "np":
		return KindPolicy, true
	case "clusternetworkpolicy", "clusternetworkpolicies", "cnp":
		return KindClusterPolicy, true
	case "adminnetworkpolicy", "adminnetworkpolicies", "anp":
		return KindAdminPolicy, true
	case "baselineadminnetworkpolicy", "baselineadminnetworkpolicies", "banp":
		return KindBaselinePolicy, true
	case "service", "services", "svc":
		return KindService, true
	case "node", "nodes", "no":
		return KindNode, true
	default:
		return "", false
	}
}
