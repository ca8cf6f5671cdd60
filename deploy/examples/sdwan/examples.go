// Package sdwan holds the SD-WAN example that the demo runs beside the others.
package sdwan

import "embed"

// Files are the manifests.
//
//go:embed *.yaml
var Files embed.FS
