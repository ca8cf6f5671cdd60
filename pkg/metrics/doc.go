// Package metrics counts what netloom does and serves the counts to Prometheus.
//
// Metrics is told by the daemon what came in and what was made of it, and is the reconcile.Observer of every loop. It has
// a registry of its own, so two of them in one process do not meet. docs/operations.md lists every metric; a test holds
// the list to the truth.
package metrics
