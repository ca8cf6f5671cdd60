// Package demo shows the daemon at work on one machine with nothing installed: the real pipeline over a directory and an
// embedded Northbound database, with the results printed as tables.
package demo
