//go:build e2e

// Package e2e tests the netloom binary on a real OVN: its databases, northd and, for packets, a chassis on the userspace
// datapath, all of them private to one test (see ovnlab).
//
//	go test -tags e2e -p 1 -timeout 15m ./test/e2e/...
//	go test -tags e2e -run TestGenerated ./test/e2e -seed 42 -seeds 1 -netloom bin/netloom
//	PATH=$PWD/.cache/ovn-trixie/bin:$PATH go test -tags e2e -run TestGenerated ./test/e2e -tiers
//
// The OVN that is tested is the first in PATH: the installed one, or one that ovnlab/unpack has put elsewhere.
//
// The suites use netloom by its command line only. The expected effect of policies comes from the oracle; the actual
// behavior of the network from ovn-trace and real packets.
package e2e
