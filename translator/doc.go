// Package translator turns cluster objects into intents.
//
// A Translator is fed the current objects, Put and Remove, in any order; Snapshot then answers with what a network has to
// do, as an intent.Snapshot, and Problems with what could not be expressed. The answer depends on the current objects
// alone: whatever the order in which they came, the same objects give the same snapshot, and one that starts from
// scratch gives the same as one that has lived through every change.
//
// Pods and namespaces go into a label cache, which keeps the sets; a change of theirs never translates a policy anew,
// with one exception: a named port that resolves to a number for the first time, or for the last.
//
// A Service is translated together with its EndpointSlices and, for node ports, the nodes' addresses: a change of one of
// them translates that Service anew and looks at no other. Which of several Services has an address and port is decided
// once all of them have said what they want.
//
// The package is pure: no client, no clock, no logger, no goroutine. One file holds one kind of object.
package translator
