// Command sbom writes the software bill of materials of a Go program, as CycloneDX or with -spdx as SPDX: the program, the standard library and
// every module in its build information; with -npm also the packages of a package-lock.json, which are embedded in it. The same program gives
// the same bytes.
//
//	go run ./test/sbom -npm pkg/serve/web/npm/package-lock.json bin/netloom > netloom.cdx.json
//	go run ./test/sbom -spdx -npm pkg/serve/web/npm/package-lock.json bin/netloom > netloom.spdx.json
package main
