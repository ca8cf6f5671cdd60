// Package election chooses the one of several instances that writes, and fences off those that led before it.
//
// A Lease of a Kubernetes API names the leader. The instance that acquires it begins a term: its work runs until the Lease
// is lost or the process stops, and the Lease is released only once the work has ended. A process may have many terms.
//
// A Lease alone does not stop a process that was suspended while it wrote. So a leader claims each target that can be
// claimed before it writes to it, and the target itself rejects the writes of an earlier claim. See ADR 10.
package election
