// Package upstreams has the UpstreamClusters of a directory join a set of clusters, and leave it with their files.
//
// An object that changes in place, with other API servers or credentials, stays in the set: watches go on where they were.
// Requests go to an API server that is ready, as in the gateway, whose registry and engine this package uses.
package upstreams
