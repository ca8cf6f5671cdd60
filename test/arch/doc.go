// Package arch holds every Go file of the module against the rules that a compiler does not know: which room may import
// which, what a pure room does without, how packages are named and described, how long a file may be.
//
// The table of rooms stands in rooms.go. A new room needs a row there before its first file passes, and a new arrow
// between rooms is a change of that table: it is made on purpose and seen in review. Files are read and parsed, never
// loaded through the go command, so that files behind build tags are judged too and a cached verdict of go test is
// thrown away as soon as a file changes.
package arch
