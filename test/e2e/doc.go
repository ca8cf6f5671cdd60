//go:build e2e

// Package e2e judges the netloom binary on a real OVN: its databases, northd and, for packets, a chassis on the
// userspace datapath, all of them private to one test (see ovnlab).
//
//	go test -tags e2e -p 1 -timeout 15m ./test/e2e/...
//	go test -tags e2e -run TestGenerated ./test/e2e -seed 42 -seeds 1 -netloom bin/netloom
//
// The suites know netloom by its command line only. What policies mean they ask of the oracle; what the network does
// they ask of ovn-trace and of real packets.
package e2e
