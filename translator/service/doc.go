// Package service translates Services to load balancers.
//
// A Service is translated together with its EndpointSlices and, for node ports, the nodes' addresses: a change of one of
// them causes only that Service to be translated again. Which of several Services owns an address and port is decided
// once the frontends of all of them are known.
package service
