package object

// The kinds of objects that Kubernetes itself has, as far as netloom reads them. SD-WAN kinds are listed in
// pkg/apis/sdewan/v1alpha1.
const (
	KindEndpoints     = "Endpoints"
	KindEndpointSlice = "EndpointSlice"
	KindNamespace     = "Namespace"
	KindNetworkPolicy = "NetworkPolicy"
	KindNode          = "Node"
	KindPod           = "Pod"
	KindService       = "Service"
)
