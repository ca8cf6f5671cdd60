// Package offline does for commands what needs no running daemon: it reads and translates manifests once, plans and applies
// once, and finds the origin of rows in a database.
package offline
