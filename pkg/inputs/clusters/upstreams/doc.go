// Package upstreams has UpstreamClusters join a set of clusters, and leave it when they are deleted.
//
// They are the files of a directory or the objects of a host cluster. One that changes in place, with other API servers or credentials,
// stays in the set: watches continue where they were. Requests go to an API server that is ready, as in the gateway, whose registry and
// engine this package uses.
package upstreams
