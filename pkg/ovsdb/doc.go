// Package ovsdb is the client that netloom uses for a server of the Open vSwitch database protocol (RFC 7047) with
// OVN_Northbound. It knows no intents.
//
// A Client maintains one connection: it dials its endpoints one by one, each with a deadline of its own, follows the
// leader of a RAFT cluster, leaves a server that stopped answering and reconnects after every loss. Each connection is a
// new Epoch; code that keeps state of the database reads it back when the epoch changes.
//
// Only the tables of logical ports, switches and routers are monitored with their content, because netloom finds those
// rows and does not make them. Everything else is written with Transact and read back with Select: keeping a copy of
// one's own rows is what makes a mutation of a large set expensive for the usual clients. WatchRows has the server report
// changes of such rows, as differences and without a copy, so that changes by others can be noticed.
//
// The types of the protocol (rows, operations, conditions) are those of libovsdb. Its client is not used: it shares one
// context among all endpoints, so that a hung server that still accepts connections keeps it forever, and it blocks
// transactions while it is disconnected.
//
// Package pkg/simulator/ovn is an in-memory server, package schema contains the Northbound schemas of some OVN versions, and package
// ovsdbtest starts real servers for tests.
package ovsdb
