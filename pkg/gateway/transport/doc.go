// Package transport sends HTTP requests to one endpoint of an API server over as few connections as the endpoint allows.
//
// Requests share HTTP/2 connections. An endpoint states on each connection how many requests it serves there at the same time
// (kube-apiserver: 100 by default); with n requests in flight at most ceil(n / that) + 1 connections are opened, also while
// thousands of clients reconnect at once. The pools of net/http and of golang.org/x/net/http2 do not have this property:
// net/http dials once for every request that finds no free connection, and both use a new connection before the endpoint has
// stated its limit, as if it were 100. Under a higher limit they open too many connections; under a lower one, requests wait
// behind watches that do not end. The pool of this package plugs into http2.Transport, dials for several waiting requests at
// once, and uses a connection only after the endpoint has answered on it.
//
// Requests that upgrade the connection (exec, attach, port-forward) use HTTP/1.1 on connections of their own, and so does
// everything for an endpoint that does not speak HTTP/2.
package transport
