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
// The package is pure: no client, no clock, no logger, no goroutine. One file holds one kind of object.
package translator
