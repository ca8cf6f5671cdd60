// Package crds holds the CRDs of deploy/crds, and the samples and mistakes of users, against the code that an API server
// runs on them.
//
// It is a module of its own, because that code brings half an API server along.
package crds
