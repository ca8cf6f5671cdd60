package kube

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/netloom/netloom/pkg/source"
)

// Options say which objects are read. The zero value reads all but SD-WAN resources.
type Options struct {
	source.Options

	Server string            // the address of the API, which problems name; "" leaves it out
	SDWAN  dynamic.Interface // reads the SD-WAN kinds; nil reads none of them

	Metadata metadata.Interface // reads the metadata of the kinds that Kinds names of source.ReviewResources
}
