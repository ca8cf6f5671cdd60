// Package daemon puts the rooms together: a source of objects, the translator, and one loop for each target. It is the
// only package that knows all of them, and only commands import it.
package daemon
