// Package crds holds the CRDs of deploy/crds, and the samples and mistakes of users, against the code that an API server
// runs on them, and against what a device takes.
//
// It is a module of its own, because an API server's code brings half of it along.
package crds
