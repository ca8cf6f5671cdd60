// Package clusters reads the pods and namespaces of other clusters, which policies may select as peers.
//
// What was read of a cluster stays when the cluster can no longer be read: nothing opens or closes because an API server is
// away. This is reported, with the time since when it is so. Only what the cluster itself says to be gone goes, and everything of a
// cluster that leaves the set.
package clusters
