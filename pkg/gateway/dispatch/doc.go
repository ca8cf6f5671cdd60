// Package dispatch finds the dispatch policy of an UpstreamCluster that applies to a request.
//
// The rules have the meaning of KubeGateway's design document. In particular a list of exclusions matches what none of them
// names: ["-pods", "-deployments"] is everything but pods and deployments.
package dispatch
