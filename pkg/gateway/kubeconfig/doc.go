// Package kubeconfig takes over the contexts of a kubeconfig as UpstreamClusters, and writes the kubeconfig of the one client that such
// a gateway has.
//
// A context is taken over with everything that it says, or not at all: what an UpstreamCluster cannot express is refused, with the name
// of the context. Nothing that is secret is part of an error.
package kubeconfig
