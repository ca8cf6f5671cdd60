// Package clusters holds the example of two clusters whose policies select pods of each other.
package clusters

import "embed"

// Files are the manifests of each cluster in a directory of its name, and probes: before and after the pod web-0 of cluster b gets the
// label app=checkout.
//
//go:embed a b *.txt
var Files embed.FS
