// Package intent is the vocabulary for what a network should do, independent of any system that implements it.
//
// A Snapshot is the whole desired state at one revision: sets of endpoints and prefixes, the policies that refer to them, load
// balancers and the configuration of CNFs. Snapshots are immutable and persistent: the next one shares everything that did not
// change and records what did, so a backend that is at revision r needs to read only Snapshot.Since(r).
//
// Snapshot.Evaluate returns whether the snapshot allows a flow. Backends are tested against it: the verdict computed from a
// backend's native rows must be the same for every flow.
//
// The package has no Kubernetes types, does no I/O and has no clock. Zero values deny.
package intent
