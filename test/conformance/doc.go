// Package conformance runs the conformance suite of the network policy API itself, unchanged: its manifests, its tests, its
// expectations. The cluster is made up: the API is a client in the process, StatefulSets become pods at once, and a connection
// that a test tries is answered from the rows that netloom writes to a Northbound database.
//
// It is a module of its own, since the suite needs more than netloom does.
package conformance
