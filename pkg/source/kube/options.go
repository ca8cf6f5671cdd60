package kube

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/netloom/netloom/pkg/source"
)

// Options selects which objects are read. The zero value reads all but SD-WAN resources.
type Options struct {
	source.Options

	Server string            // address of the API, for problems; "" leaves it out
	SDWAN  dynamic.Interface // reads the SD-WAN kinds; nil reads none of them

	Metadata metadata.Interface // reads the metadata of those of source.ReviewResources that are in Kinds
}
