// Package clusters reads the pods and namespaces of other clusters, which policies may select as peers.
//
// Objects that were read from a cluster are kept when the cluster can no longer be read: nothing opens or closes because an API
// server is away. This is reported, with the time since which it has lasted. An object is removed only when its own cluster reports the
// deletion, or when the cluster leaves the set.
package clusters
