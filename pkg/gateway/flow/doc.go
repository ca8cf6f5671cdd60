// Package flow limits requests by the flow control schemas of an UpstreamCluster: without a limit, by the number of requests
// in progress, or by rate.
package flow
