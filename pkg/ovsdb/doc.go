// Package ovsdb is how netloom talks to a server of the Open vSwitch database protocol (RFC 7047) that holds
// OVN_Northbound. It knows no intents.
//
// A Client keeps one connection for ever: it dials its endpoints one by one, each with a deadline of its own, follows the
// leader of a RAFT cluster, leaves a server that stopped answering and comes back after every loss. Each connection is
// a new Epoch; whoever holds state of the database reads it back when the epoch moved.
//
// Only the tables of logical ports, switches and routers are monitored with their content, because they are found, not
// made. Everything else is written with Transact and read back with Select: a copy of what one writes is what makes a
// mutation of a large set expensive for the usual clients. WatchRows has the server report changes of such rows, as
// differences and without a copy, so that changes by others can be noticed.
//
// Types of the protocol (rows, operations, conditions) are those of libovsdb. Its client is not used: it shares one
// context among all endpoints, so that a hung server that still accepts connections keeps it for ever, and it blocks
// transactions while it is disconnected.
//
// Package inmem is a server in the process, package schema holds the Northbound schemas of some OVN versions, and package
// ovsdbtest starts real servers for tests.
package ovsdb
