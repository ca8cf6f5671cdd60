// Package service translates Services, and ServiceImports of the Multi-Cluster Services API, to load balancers.
//
// A Service is translated together with its EndpointSlices and, for node ports, the nodes' addresses: a change of one of
// them causes only that Service to be translated again. Which of several Services owns an address and port is decided
// once the frontends of all of them are known.
//
// A ServiceImport is treated as a Service whose cluster IPs are those of the set of clusters. Its backends are in the
// EndpointSlices that an MCS controller puts into the own cluster, for those of every cluster.
package service
