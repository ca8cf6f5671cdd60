// Package offline does for commands what needs no running daemon: it reads and translates manifests once, plans and applies
// once, and finds what rows of a database are there for.
package offline
