// Package world finds objects in the state that a question is about: pods, Services, nodes, addresses and policies, by name and by
// address, and what an answer has to say about the state as a whole. It answers no question itself: each has a package of its own.
//
// A State is a snapshot, and the objects that it was translated from, whether they come from a directory or from a running daemon. A
// World indexes one. Both are read-only.
package world
