// Command kubetypes decodes objects into the types of one version of Kubernetes, which have no unknown fields. It reads a list of objects as
// JSON and writes a list of what is wrong with each; test/e2ekube/deployment compares the answers of all versions.
//
// A program has one version of each module, so it is built once for each version: with go.mod for the oldest that deploy/ supports, and with
// -modfile for those of versions/. The newest is that of test/e2ekube itself.
//
// Decoding proves that a version has each kind and each field, with its type. It does not prove that values are valid together: that is what
// the API server in test/e2ekube says, which is of the newest version.
package main
