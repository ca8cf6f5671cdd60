// Package crds holds the definitions of the SD-WAN kinds for programs.
package crds

import "embed"

// Definitions are the files of this directory, one CRD each.
//
//go:embed *.yaml
var Definitions embed.FS
