// Package reconcile keeps one target in sync with the newest snapshot, for the lifetime of the process.
//
// A Loop is level-triggered: a wake carries no data, and what is written depends on the newest snapshot and the target
// alone. As long as nothing fails it plans incrementally, from the revision it applied last; a plan that is too large is cut at
// snapshots that were the newest one meanwhile. In a storm it pauses for a moment after each commit, so that changes are written
// together; a single change does not wait. It plans from a read-back at the start, after any error, if the backend lost track, and at the drift interval. An error is retried forever, with a
// growing, jittered backoff; nothing is ever dropped. Every target has its own loop and goroutine, so that a slow or
// broken one delays no other.
//
// Two things are never done: nothing is written before there is a snapshot (before every source has synced), and what the
// target has when a run begins is not removed only because the source does not have it. If the share of such objects is
// too large, they are kept, if the backend supports that, until they are released or come back; everything else is
// written.
package reconcile
