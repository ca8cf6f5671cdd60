// Package v1alpha1 holds the kind UpstreamCluster of group proxy.kubegateway.io: a cluster whose API servers netloom gateway
// serves.
//
// The fields are those of KubeGateway's design document. `make generate` generates the CRD in deploy/crds from these types;
// `kubectl explain` shows the comments on fields.
//
// +kubebuilder:object:generate=true
// +groupName=proxy.kubegateway.io
package v1alpha1

//go:generate go tool -modfile=../../../../test/tools/go.mod controller-gen object crd:maxDescLen=4096 paths=. output:crd:dir=../../../../deploy/crds
