// Package clusterpolicy holds the definitions of the cluster-wide policies of sigs.k8s.io/network-policy-api, by which API
// servers validate them: the one of ClusterNetworkPolicy is that of the experimental channel, as published; those of
// AdminNetworkPolicy and BaselineAdminNetworkPolicy, which are no longer published, are generated from the types.
package clusterpolicy

import "embed"

//go:generate go tool -modfile=../../../test/tools/go.mod controller-gen crd:maxDescLen=0 paths=sigs.k8s.io/network-policy-api/apis/v1alpha1 output:crd:dir=.
//go:generate sh -c "cat $(go list -m -f '{{.Dir}}' sigs.k8s.io/network-policy-api)/config/crd/experimental/policy.networking.k8s.io_clusternetworkpolicies.yaml > policy.networking.k8s.io_clusternetworkpolicies.yaml"

// Definitions are the files of this directory, one CRD each.
//
//go:embed *.yaml
var Definitions embed.FS
