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

// The kinds by which network plugins put pods on networks of their own: those of ovn-kubernetes and of kube-ovn. They are only read to
// answer questions.
const (
	KindUserDefinedNetwork        = "UserDefinedNetwork"
	KindClusterUserDefinedNetwork = "ClusterUserDefinedNetwork"
	KindSubnet                    = "Subnet"
	KindVPC                       = "Vpc"
)

// IsNetwork reports whether a kind is one of those networks. Their rules are none that an administrator of policies writes.
func IsNetwork(kind string) bool {
	return kind == KindUserDefinedNetwork || kind == KindClusterUserDefinedNetwork || kind == KindSubnet || kind == KindVPC
}

// IsClusterPolicy reports whether a kind is one of the cluster-wide policies.
func IsClusterPolicy(kind string) bool {
	return kind == KindClusterNetworkPolicy || kind == KindAdminNetworkPolicy || kind == KindBaselineAdminNetworkPolicy
}

// IsPolicy reports whether objects of a kind decide which connections are allowed.
func IsPolicy(kind string) bool { return kind == KindNetworkPolicy || IsClusterPolicy(kind) }
