//go:build e2e

// Package ovnlab runs a private, real OVN for one test: its own databases, northd and, for real packets, one or two
// chassis on the userspace datapath with network namespaces as hosts.
//
// Everything is in a scratch directory and in separate network namespaces, is started as a child process and ends with
// the test. The machine's own Open vSwitch is not touched. It needs root, and Debian's packages ovn-central, ovn-host,
// ovn-ic, ovn-ic-db, openvswitch-switch and iproute2.
//
// Lab is the control plane; Network the logical ports on it; Tracer evaluates packets with ovn-trace; Chassis and Host
// send real packets; Raft is a clustered Northbound database without a control plane; Interconnect joins two labs by OVN
// Interconnect.
package ovnlab
