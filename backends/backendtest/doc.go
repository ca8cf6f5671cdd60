// Package backendtest is the contract that every backend passes, whatever system it writes to.
//
// A backend's test makes its target available as a Target and calls Run. The contract walks the target through random
// histories of snapshots, along many paths to the same state, with restarts, faults and drift on the way, and compares
// the verdict of the native rows on every probe with that of intent.Snapshot.Evaluate.
//
// The histories come from a World, which other tests may use as well. It is random but seeded: test/seeds lists
// the seeds of the contract, and -seed takes another.
package backendtest
