package kube

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/netloom/netloom/pkg/inputs/confirm"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// Options selects which objects are read. The zero value reads all but those that a CRD defines.
type Options struct {
	source.Options

	// Namespace is the only one whose objects are read, for a client without permissions in others; "" reads all. Kinds that it may not
	// list then are unavailable, apart from pods and NetworkPolicies.
	Namespace string

	Server string            // address of the API, for problems; "" leaves it out
	SDWAN  dynamic.Interface // reads the SD-WAN kinds; nil reads none of them

	// ClusterPolicies reads the kinds of cluster-wide policies and ServiceImports; nil reads none of them. A kind that the API does not
	// have is not a problem, and is read as soon as the API has it.
	ClusterPolicies dynamic.Interface

	Confirm confirm.Options // how the objects held are compared with those of the API, see Proofs

	// Metadata reads the metadata of those of source.ReviewResources that are in Kinds, and of all kinds for Confirm; nil compares whole objects.
	Metadata metadata.Interface
}
