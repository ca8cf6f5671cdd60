// Package network evaluates the networks that ovn-kubernetes and kube-ovn separate: primary UserDefinedNetworks and
// ClusterUserDefinedNetworks, private Subnets, and VPCs. They become policies of a snapshot that only answers questions, so that every
// answer agrees about them. What their projects do not document is left open, see world.Open. It does no I/O.
package network
