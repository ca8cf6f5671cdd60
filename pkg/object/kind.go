package object

// The kinds of objects of Kubernetes itself that netloom reads. SD-WAN kinds are listed in pkg/apis/sdewan/v1alpha1.
const (
	KindAdminNetworkPolicy         = "AdminNetworkPolicy"
	KindBaselineAdminNetworkPolicy = "BaselineAdminNetworkPolicy"
	KindClusterNetworkPolicy       = "ClusterNetworkPolicy"
	KindEndpoints                  = "Endpoints"
	KindEndpointSlice              = "EndpointSlice"
	KindNamespace                  = "Namespace"
	KindNetworkPolicy              = "NetworkPolicy"
	KindNode                       = "Node"
	KindPod                        = "Pod"
	KindService                    = "Service"
)
