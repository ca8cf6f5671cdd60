// Package nbwatch tells what is committed to a Northbound database, row by row, and when the server said so.
//
// It monitors tables over a connection of its own and shares no code with netloom's client: it is a witness. A server
// sends an update to its monitors once the transaction is in its log, and one update for each transaction, so the changes
// of one transaction carry the same number and the same time. That time is when the witness read the update: what the
// server and the loopback need to deliver it is in it.
package nbwatch
