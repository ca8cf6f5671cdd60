// Command kubetypes decodes objects strictly into the types of one version of Kubernetes: an unknown kind or field is an error. It reads a list of objects as
// JSON and writes a list of what is wrong with each; test/e2ekube/deployment compares the answers of all versions.
//
// A program has one version of each module, so it is built once for each version: with go.mod for the oldest that deploy/ supports, and with
// -modfile for those of versions/. The newest is that of test/e2ekube itself.
//
// Decoding proves that a version has each kind and each field, with its type. It does not prove that values are valid: the API
// server of test/e2ekube checks that, which is of the newest version.
package main
