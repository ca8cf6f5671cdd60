// Package registry reads UpstreamClusters, from a directory of files or the API of a host cluster, and has them served.
//
// An object with faults, a file that cannot be read and a host cluster that cannot be reached change nothing: the last good
// version of each cluster stays in force.
package registry
