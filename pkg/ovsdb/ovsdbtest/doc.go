// Package ovsdbtest starts real ovsdb-server processes for tests, if Open vSwitch is installed.
//
// Process is one server, Cluster the members of a RAFT cluster; both can be stopped, killed and hung. Raw is a minimal
// client, the baseline for benchmarks. Package pkg/simulator/ovn has a server that needs nothing installed.
package ovsdbtest
