// Package builtin is the one list of the backends that are compiled in.
package builtin
