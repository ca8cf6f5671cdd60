// Package arch checks every Go file of the module against rules that a compiler does not know: which room may import
// which, what a pure room must not use, how packages are named and described, how long a file may be.
//
// The table of rooms is in rooms.go. A new room needs a row there before its first file passes, and a new import between
// rooms is a change of that table: it is made on purpose and seen in review. Files are parsed, never loaded through the
// go command, so that files behind build tags are checked too and a cached result of go test is invalid as soon as a file
// changes.
package arch
