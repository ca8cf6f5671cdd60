// Package ovn is an in-memory OVSDB server for `--ovn-nb embedded`, the demo and tests: nothing needs to be installed.
//
// It has a database engine for any schema file, the protocol (transact, select, monitor, monitor_cond, _Server),
// counters, and faults on demand. It behaves like ovsdb-server in everything that netloom relies on, down to the kinds of
// errors: row uuids chosen by the client, enums, ranges and lengths, unique indexes, strong and weak references, garbage
// collection of unreferenced rows. It stores nothing on disk, has no locks, answers a wait operation at once, and ignores
// conditions of monitors. It does not have the bug of ovsdb-server 3.1 that a port group keeps a port that is collected
// by the transaction that also changes the group. A test with the build tag e2e runs the same random transactions on it
// and on a real ovsdb-server and compares the results.
package ovn
