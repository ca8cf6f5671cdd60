// Package v1 holds the kind of group k8s.ovn.org that netloom reads to answer questions: EgressFirewall, which
// ovn-kubernetes defines and enforces. netloom never enforces it.
//
// The fields, and the definition that is generated from them, are those of ovn-kubernetes.
//
// +kubebuilder:object:generate=true
// +groupName=k8s.ovn.org
package v1

import "embed"

//go:generate go tool -modfile=../../../../test/tools/go.mod controller-gen object crd:maxDescLen=0 paths=. output:crd:dir=.

// Definitions are the CRDs of this directory.
//
//go:embed *.yaml
var Definitions embed.FS
