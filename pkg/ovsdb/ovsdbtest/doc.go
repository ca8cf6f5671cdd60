// Package ovsdbtest holds OVSDB servers to test against, and to show netloom where no OVN is installed.
//
// Server is a server within the process: a database engine of its own over any schema file, a protocol front (transact,
// select, monitor, monitor_cond, _Server), counters and faults on demand. It behaves like ovsdb-server in what netloom
// relies on, down to the kinds of errors: row uuids chosen by the client, enums, ranges and lengths, unique indexes,
// strong and weak references, rows that nobody references collected. It keeps nothing on disk, has no locks, answers a
// wait operation at once, and ignores conditions of monitors. It has not the fault of ovsdb-server 3.1 that a port group
// keeps a port that is collected by the transaction that also changes the group. A test of the build tag e2e runs the
// same random transactions on it and on a real ovsdb-server and compares all that both say.
//
// Process and Cluster run the real ovsdb-server, alone or as members of a RAFT cluster, where it is installed. Raw is
// the smallest client there can be: the floor that benchmarks compare with.
package ovsdbtest
