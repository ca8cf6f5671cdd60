// Package gateway is a reverse proxy in front of the API servers of several clusters.
//
// The host name of a request selects the cluster. The gateway authenticates the client as that cluster would, limits and
// dispatches the request by the policies of its UpstreamCluster, and sends it to one of the API servers, which authorizes it
// for the impersonated client. Client sends the requests of this process in the same way, without a client of its own to
// impersonate.
package gateway
