// Package kubeapi simulates the API server of a Kubernetes cluster that clients only read: discovery, gets, lists and watches of a few
// kinds, with selectors, initial events and bookmarks, over HTTP. The demo of the gateway and tests use it; kubectl and client-go can.
//
// Put and Delete change objects from within the process. Every change has a resource version, and the last ones are kept, so that a
// watch goes on where a list was; one that asks for an older version gets 410, as from a real server.
//
// Requests need the bearer token of the server. Writes over HTTP, pages, tables, protobuf, patches and every kind that is not in the
// table of kinds are not simulated: the answer is the Status that a real server gives for what it does not have.
package kubeapi
