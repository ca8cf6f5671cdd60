package object

// The kinds of objects of Kubernetes itself that netloom reads. SD-WAN kinds are listed in pkg/apis/sdewan/v1alpha1.
const (
	KindAdminNetworkPolicy         = "AdminNetworkPolicy"
	KindBaselineAdminNetworkPolicy = "BaselineAdminNetworkPolicy"
	KindClusterNetworkPolicy       = "ClusterNetworkPolicy"
	KindEgressFirewall             = "EgressFirewall" // of ovn-kubernetes; only read to answer questions
	KindEndpoints                  = "Endpoints"
	KindEndpointSlice              = "EndpointSlice"
	KindNamespace                  = "Namespace"
	KindNetworkPolicy              = "NetworkPolicy"
	KindNode                       = "Node"
	KindPod                        = "Pod"
	KindService                    = "Service"
	KindServiceImport              = "ServiceImport" // of the Multi-Cluster Services API
)

// IsClusterPolicy reports whether a kind is one of the cluster-wide policies.
func IsClusterPolicy(kind string) bool {
	return kind == KindClusterNetworkPolicy || kind == KindAdminNetworkPolicy || kind == KindBaselineAdminNetworkPolicy
}

// IsPolicy reports whether objects of a kind decide which connections are allowed.
func IsPolicy(kind string) bool { return kind == KindNetworkPolicy || IsClusterPolicy(kind) }
