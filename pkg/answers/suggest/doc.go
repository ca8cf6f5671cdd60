// Package suggest writes the NetworkPolicies that are missing for some connections, and proves what they open.
//
// Each direction that denies a connection gets rules for exactly the pods and ports in question. Selectors are made of the
// labels of the pods, so that they match these pods and no others where labels can tell them apart. The proof compares the
// states before and after for all pairs of pods, addresses outside and ports: what the policies open beyond the connections,
// or close, is part of the result.
package suggest
