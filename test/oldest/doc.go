// Command oldest renders kustomizations with the kustomize of kubectl 1.28, the oldest that deploy/ supports. It reads a list of directories as
// JSON and writes a list of streams of YAML; test/e2ekube/deployment compares them with what the newest version renders. It is a separate
// module, because a program has one version of each.
package main
