// Package ovsdbtest starts real ovsdb-server processes for tests, where Open vSwitch is installed.
//
// Process is one server, Cluster the members of a RAFT cluster; both can be stopped, killed and hung. Raw is the smallest
// client there can be: the floor that benchmarks compare with. Package inmem has the server that needs nothing installed.
package ovsdbtest
