// Package identity finds out who sends a request to a cluster, and passes it on to the cluster.
//
// A client has a certificate that the CA of the cluster signed, or a token that the cluster knows. The gateway then sends the
// request with its own credentials and impersonates the client. Whatever a client sends to impersonate someone else is
// authorized by the cluster first, and never forwarded.
package identity
