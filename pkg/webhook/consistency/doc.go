// Package consistency finds what is wrong with SD-WAN objects and their workloads beside those that are there.
//
// It judges one change at a time: an object that refers to what is not there, one that goes while others need it, a second
// workload for a CNF, a label that must not change, a key in clear. What becomes of a finding, a refusal or a warning, is
// the caller's business.
//
// netloom itself takes objects in any order and holds on to what is still needed, so a finding of Dependencies is about
// what people mean, and a fault of none: the device may have a zone by somebody's hand. The annotation netloom.io/on-device
// of the object that refers to it says so.
package consistency
