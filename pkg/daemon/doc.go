// Package daemon wires everything together: a source of objects, the translator, and one loop for each target. It is the
// only package that imports all of them, and only commands import it.
package daemon
