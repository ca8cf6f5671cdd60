// Package crdschema validates objects against the schema of their CustomResourceDefinition where no API server does: if
// they come from files.
//
// It uses the code of the API server, k8s.io/apiextensions-apiserver: structural schemas, defaults, list types and rules
// in CEL. It reports the same as a server does for the same object; test/crds compares the two. Unknown fields are left
// to a strict decoder.
package crdschema
