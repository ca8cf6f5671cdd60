// Package v1alpha1 holds the kinds of group netloom.io: what netloom says of objects that have no status of their own.
//
// The CRD in deploy/crds is made from these types by `make generate`; the comments on fields are what `kubectl explain`
// shows. Users read these objects and write none.
//
// +kubebuilder:object:generate=true
// +groupName=netloom.io
package v1alpha1

//go:generate go tool -modfile=../../../../test/tools/go.mod controller-gen object crd:maxDescLen=4096 paths=. output:crd:dir=../../../../deploy/crds
