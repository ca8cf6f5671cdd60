// Package kube is the source that reads a Kubernetes API.
//
// It lists and watches through client-go's reflectors into stores of its own; SD-WAN resources come through the dynamic
// client. A resource that cannot be listed or watched is a Problem until it can be again; its known objects are kept
// in the meantime.
//
// A service or SD-WAN kind that an API refuses from the start, because the permission or the kind is missing, is
// unavailable until it can be read: the source syncs without it. It does not sync without any other kind.
//
// With EndpointsAuto it lists EndpointSlices once before it watches either kind. If the API has none (404, or 403 and
// discovery does not know discovery.k8s.io/v1 either) it reads Endpoints, until it is restarted. Any other error is a
// Problem and is retried forever; unless it is a refusal, the source does not sync before.
package kube
