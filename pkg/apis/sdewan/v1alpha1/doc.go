// Package v1alpha1 defines the SD-WAN kinds, of the API group batch.sdewan.akraino.org.
//
// The names of kinds and fields are those of Akraino ICN SD-EWAN, etra_dest included, so that manifests written for its
// config agent keep working. The CRDs in deploy/crds are made from these types by `make generate`; the comments on fields
// are what `kubectl explain` shows.
//
// # Where the rules come from
//
// Comments name three sources. The device is the REST interface of the OpenWRT network function (CNF) as it behaves, not
// as it is documented. Upstream is the CRDs, samples and controller of ICN SD-EWAN. The design document is the one of its
// config agent. What none of them refuses, but cannot work on a device, is refused with the reason in the comment.
//
// Schemas refuse what is wrong whatever else exists. Whether a zone, policy, proposal or interface exists is a question
// of order on the device; the controller answers it in the status.
//
// # Empty strings
//
// The device takes an empty string for an absent one, and so does every optional field here: "" passes, and means what
// absence means. Defaults are filled in by the API server only, so that who reads manifests from files sees "" where the
// server would say the default; both mean the same.
//
// # Names
//
// An object is called on a device by a name derived from its namespace and name, in the alphabet and length that the
// device takes. Any name that Kubernetes accepts will do. spec.name, which many kinds have, never had an effect.
//
// +kubebuilder:object:generate=true
// +groupName=batch.sdewan.akraino.org
package v1alpha1

//go:generate go tool -modfile=../../../../test/tools/go.mod controller-gen object crd:maxDescLen=4096 paths=. output:crd:dir=../../../../deploy/crds
