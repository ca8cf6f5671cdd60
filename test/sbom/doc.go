// Command sbom writes the software bill of materials of a Go program, as CycloneDX or with -spdx as SPDX: the program, the standard library and
// every module in its build information. The same program gives the same bytes.
//
//	go run ./test/sbom bin/netloom > netloom.cdx.json
//	go run ./test/sbom -spdx bin/netloom > netloom.spdx.json
package main
