// Package pages returns to the system the pages of the program's own file that are in memory.
//
// Most of what a large Go program has in memory after its start is code that only the start needed: the registration of every type of
// the Kubernetes API, for one. The kernel keeps these pages mapped until memory is short, and counts them as the program's.
package pages
