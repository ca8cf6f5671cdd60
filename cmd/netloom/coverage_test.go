package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrongPortNamesAreNotSilent runs the commands with port names that are not those of the database.
func TestWrongPortNamesAreNotSilent(t *testing.T) {
	dir, server := manifests(t), database(t)
	require.Equal(t, exitDone, netloom(t, "apply", "--manifests", dir, "--ovn-nb", server.Addr()).code)
	rows := server.Dump()

	const kept = "warning: 1 of 1 selected pods is protected only by an earlier port that is kept: the configured one is not found\n"
	const hint = "warning: pods are not found by {pod}.{namespace}: expected logical port db-0.shop, the database has shop_db-0; " +
		"try --ovn-port-names ovn-kubernetes\n"
	for _, command := range [][]string{
		{"apply", "--manifests", dir},
		{"apply", "--manifests", dir, "--dry-run"},
		{"plan", "-f", dir},
		{"drift", "-f", dir},
		{"drift", "-f", dir, "--repair"},
	} {
		got := netloom(t, append(command, "--ovn-nb", server.Addr(), "--ovn-port-names", "kube-ovn")...)
		require.Equal(t, exitUnprotected, got.code, command)
		require.Equal(t, kept+hint, got.errout, command)
		require.Equal(t, rows, server.Dump(), "no pod is open")
	}
	got := netloom(t, "plan", "-f", dir, "--ovn-nb", server.Addr(), "--ovn-port-names", "kube-ovn", "-o", "json")
	var report planReport
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Equal(t, 1, report.Coverage.Selected)
	require.Equal(t, 1, report.Coverage.Kept)
}

// TestStrictWantsEveryPodProtected has one of two selected pods without a logical port.
func TestStrictWantsEveryPodProtected(t *testing.T) {
	dir, server := manifests(t), database(t)
	require.NoError(t, server.AddPort("sw", "shop_here", nil))
	write(t, dir, "more.yaml", zonePods)
	for _, args := range [][]string{
		{"apply", "--manifests", dir},
		{"apply", "--manifests", dir, "--dry-run"},
		{"plan", "-f", dir},
		{"drift", "-f", dir},
		{"drift", "-f", dir, "--repair"},
	} {
		args = append(args, "--ovn-nb", server.Addr())
		got := netloom(t, args...)
		require.Equal(t, exitDone, got.code, args)
		require.Equal(t, "warning: 1 of 3 selected pods is NOT protected: shop/there (no logical port shop_there)\n", got.errout, args)
		require.Equal(t, exitUnprotected, netloom(t, append(args, "--strict")...).code, args)
	}
}
