// Package service translates Services to load balancers.
//
// A Service is translated together with its EndpointSlices and, for node ports, the nodes' addresses: a change of one of
// them translates that Service anew and looks at no other. Which of several Services owns an address and port is decided
// once all of them have said what they want.
package service
