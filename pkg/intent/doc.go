// Package intent is the vocabulary in which netloom says what a network should do, without naming any system that does
// it.
//
// A Snapshot is the whole desired state at one revision: sets of endpoints and prefixes, and the policies that speak of
// them. Snapshots are immutable and persistent: the next one shares all that did not change, and remembers what did, so
// a backend that already holds revision r asks Snapshot.Since(r) and looks at nothing else.
//
// Snapshot.Evaluate answers for one flow whether the snapshot allows it. Backends are judged against it: the verdict
// computed from a backend's native rows must equal it for every flow.
//
// The package knows no Kubernetes, does no I/O and holds no clock. Zero values deny.
package intent
