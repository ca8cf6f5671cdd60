// Package metrics exports what netloom does as Prometheus metrics.
//
// The daemon reports what it read and created, and Metrics is the reconcile.Observer of every loop. It has its own registry,
// so several can exist in one process. docs/operations.md lists every metric; a test checks that the list is complete.
package metrics
