// Package consistency finds conflicts between SD-WAN objects or their workloads and the existing ones.
//
// It judges one change at a time: a reference to a missing object, the deletion of one that is still needed, a second
// workload for a CNF, a label that must not change, a key in plain text. Whether a finding becomes a refusal or a warning
// is up to the caller.
//
// netloom itself accepts objects in any order and retains what is still needed, so a finding of Dependencies is not always an error: a zone
// may have been created on the device by hand. The annotation netloom.io/on-device of the object that refers to it declares this.
package consistency
