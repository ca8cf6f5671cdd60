// Command sbom writes down what a Go program is made of, as CycloneDX: the program, the standard library and every module
// that the toolchain recorded in it. The same program gives the same bytes.
//
//	go run ./test/sbom bin/netloom > netloom.cdx.json
package main
