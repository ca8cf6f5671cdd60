// Package nbwatch reports what is committed to a Northbound database, row by row, with the time of the report.
//
// It monitors tables over a separate connection and shares no code with netloom's client: it is an independent witness. A
// server sends an update to its monitors once the transaction is in its log, and one update for each transaction, so the
// changes of one transaction have the same number and the same time. That is the time when the update was read, so it
// includes the delivery by the server and the loopback.
package nbwatch
