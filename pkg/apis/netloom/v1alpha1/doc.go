// Package v1alpha1 holds the kinds of group netloom.io: the status that netloom reports for objects without a status field.
//
// `make generate` generates the CRD in deploy/crds from these types; `kubectl explain` shows the comments on fields. Users
// only read these objects.
//
// +kubebuilder:object:generate=true
// +groupName=netloom.io
package v1alpha1

//go:generate go tool -modfile=../../../../test/tools/go.mod controller-gen object crd:maxDescLen=4096 paths=. output:crd:dir=../../../../deploy/crds
