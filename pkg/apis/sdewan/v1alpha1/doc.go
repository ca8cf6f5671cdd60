// Package v1alpha1 defines the SD-WAN kinds, of the API group batch.sdewan.akraino.org.
//
// The names of kinds and fields are those of Akraino ICN SD-EWAN, including etra_dest, so that manifests written for its
// config agent keep working. `make generate` generates the CRDs in deploy/crds from these types; `kubectl explain` shows the
// comments on fields.
//
// # Where the rules come from
//
// Comments refer to three sources. The device is the REST API of a CNF, as it behaves rather than as it is documented.
// Upstream is the CRDs, samples and controller of ICN SD-EWAN. The design document is that of its config agent. Values that
// all of them accept, but that cannot work on a device, are rejected for the reason given in the comment.
//
// Schemas reject what is invalid regardless of other objects. Whether a zone, policy, proposal or interface exists depends on
// the order of events; the controller reports it in the status.
//
// # Empty strings
//
// The device treats an empty string like an absent one, and so does every optional field here: "" is valid and has the same
// meaning. Only the API server fills in defaults: in manifests from files, a field is "" where the server would return the
// default, with the same meaning.
//
// # Names
//
// The name of an object on a device is derived from its namespace and name, and uses only the characters and length that the
// device accepts. Any name that Kubernetes accepts is valid. spec.name, which many kinds have, never had any effect.
//
// +kubebuilder:object:generate=true
// +groupName=batch.sdewan.akraino.org
package v1alpha1

//go:generate go tool -modfile=../../../../test/tools/go.mod controller-gen object crd:maxDescLen=4096 paths=. output:crd:dir=../../../../deploy/crds
