// Package crds checks the CRDs of deploy/crds, and samples and mistakes of users, against the code that an API server
// runs on them, and against what a device accepts.
//
// It is a separate module, because the code of an API server has many dependencies.
package crds
