package kube

import (
	"k8s.io/client-go/dynamic"

	"github.com/netloom/netloom/pkg/source"
)

// Options say which objects are read. The zero value reads all but SD-WAN resources.
type Options struct {
	source.Options

	Server string            // the address of the API, which problems name; "" leaves it out
	SDWAN  dynamic.Interface // reads the SD-WAN kinds; nil reads none of them
}
