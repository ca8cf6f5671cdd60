// Package source defines what a source of cluster objects is, which kinds sources deliver and what they keep of each.
//
// A source keeps the current objects and reports which of them may have changed, but not how. Its reader waits on Wake,
// takes the dirty references with Drain and asks Get for their present state. Nothing is queued: a reader that was away for
// an hour finds each changed object once, in its present state. Package kube reads a Kubernetes API, package manifest a
// directory.
//
// Objects are typed (*networkingv1.NetworkPolicy, *corev1.Pod, *corev1.Namespace, *corev1.Node, *corev1.Service,
// *discoveryv1.EndpointSlice, and the SD-WAN kinds of pkg/apis/sdewan/v1alpha1), trimmed to what netloom uses, shared and
// read-only. Resource versions are kept, but a change outside the kept fields, such as a heartbeat, is not reported. SD-WAN
// resources keep everything except managed fields. Pods that are CNFs, which the label sdewanPurpose marks, keep more than
// others: networks, readiness, restarts, controller and whether they are terminating.
//
// # Endpoints
//
// The addresses behind a service are read from EndpointSlices or from the older core/v1 Endpoints, and delivered as
// EndpointSlices in either case, never from both for one service. Endpoints become one slice for each of their subsets
// and address families, named endpoints/NAME/SUBSET-FAMILY, such as endpoints/web/0-ipv4: a name that no object of a
// cluster can have. It carries the labels of the Endpoints, kubernetes.io/service-name, and as
// endpointslice.kubernetes.io/managed-by the value endpoints.netloom.io. It includes addresses that are not ready, neither
// ready nor serving, since only the Service decides whether that matters. It has no zones and hints.
//
// # Secrets
//
// Secrets are not objects of a source. They are read by name, where they are needed, through the interface Secrets.
package source
