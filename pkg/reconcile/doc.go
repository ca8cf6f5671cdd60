// Package reconcile keeps one target in agreement with the newest snapshot, for as long as the process lives.
//
// A Loop is level-triggered: a wake carries no data, and what is written depends on the newest snapshot and the target
// alone. While all goes well it plans incrementally, from the revision it applied last. It plans from read-back at the
// start, after any error, when the backend lost track, and at the drift interval. An error is retried for ever, with a
// growing and jittered pause; nothing is ever dropped. Every target has a loop and a goroutine of its own, so that a slow
// or broken one delays no other.
//
// Two things are never done: nothing is written before there is a snapshot (before every source has synced), and what the
// target holds when a run begins is not removed only because the source does not have it. Too large a share of such objects
// is kept, where the backend can do that, until somebody releases them or they come back; everything else is written.
package reconcile
