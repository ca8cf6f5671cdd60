// Package chart arranges the connections of a report as a map of limited size: namespaces, of which some are opened and show their
// workloads, addresses outside, and the links between them.
//
// Nodes that are linked alike are one node where there are many, and the smallest of those that are still too many are one node too. No
// pod is left out, so that a map of a hundred thousand pods is complete, only coarser.
package chart
