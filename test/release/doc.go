// Command release builds everything that a release of netloom is made of, with nothing but Go and git:
//
//	go run ./test/release v0.1.0 dist
//
// It writes programs for every platform, an OCI image for linux/amd64 and linux/arm64 from scratch, the chart and the kustomizations with the
// digest of that image, the kubectl plugin, SBOMs, a provenance statement, checksums and release notes. The same commit and the same Go give
// the same bytes. Nothing is published.
package main
