// Package examples holds the manifests that the demo runs where no directory is given.
package examples

import "embed"

// Files are the manifests and the probes.
//
//go:embed *.yaml */*.yaml probes.txt
var Files embed.FS
