// Package crdschema judges objects by the schema of their CustomResourceDefinition, where no API server does it: when they
// come from files.
//
// It knows the keywords and the part of CEL that the definitions in deploy/crds are written in, and refuses to read a
// definition that uses more. What it says agrees with what an API server says about the same object in every field that it
// names; test/crds holds it against the server's own code. Unknown fields are for a strict decoder, and status is left
// alone: a server takes none with a new object.
package crdschema
