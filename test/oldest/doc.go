// Command oldest renders kustomizations with the kustomize of kubectl 1.28, the oldest that deploy/ supports, and decodes objects into the
// types of Kubernetes 1.28, which have no unknown fields. It reads a question as JSON and writes the answer as JSON; test/e2ekube/deployment
// compares the answer with that of the newest versions. It is a separate module, because a program has one version of each.
package main
