//go:build e2e

// Package ovnlab runs a private, real OVN for one test: its own databases, northd and, where packets are wanted, one
// or two chassis on the userspace datapath with network namespaces for hosts.
//
// Everything lives in a scratch directory and in network namespaces of its own, is started as a child process and ends
// with the test. Nothing of the machine's own Open vSwitch is touched. It needs root, and Debian's packages ovn-central,
// ovn-host, openvswitch-switch and iproute2.
//
// Lab is the control plane; Network the logical ports on it; Tracer answers by ovn-trace what a packet would meet;
// Chassis and Host send real packets; Raft is a clustered Northbound database without a control plane.
package ovnlab
