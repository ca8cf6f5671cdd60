// Package demo shows the daemon at work on one machine with nothing installed: the real pipeline over a directory, an
// embedded Northbound database, and what became of it printed as tables.
package demo
