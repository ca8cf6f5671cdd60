// Package crdschema validates objects by the schema of their CustomResourceDefinition, where no API server does it: when
// they come from files.
//
// It is an API server's own code, k8s.io/apiextensions-apiserver: structural schemas, defaults, list types and rules in CEL.
// What it reports is what a server reports about the same object; test/crds compares the two. Unknown fields are left to a
// strict decoder.
package crdschema
