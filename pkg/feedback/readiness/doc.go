// Package readiness sets the condition of a readiness gate on pods, so that a pod counts as ready only once every policy that selects it is
// in force on every target, and installed where packets are decided on.
//
// A pod waits until three things are known: the targets have been in sync with a snapshot that has the pod as it is now; none of them lacks
// the pod, or is changed by others; and what was written by then is installed, if the target can report that (backends.Marker). Then the
// condition is written, once. It uses the facts of PolicyStatus: pkg/feedback/policy/report judges both.
//
// A condition that is True stays True whatever is unknown: while netloom starts again, another instance leads, or a target cannot be reached.
// It becomes False only if a target is known to lack the pod for longer than a set time, and not for more than a share of the pods.
//
// Who is ready is stored in the pods alone: a process that starts reads the conditions and writes nothing for those that are right.
package readiness
