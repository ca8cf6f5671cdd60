package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRowsOfABackend shows what policies become on a Tungsten Fabric controller instead of in OVN.
func TestRowsOfABackend(t *testing.T) {
	got := netloom(t, "explain", "-f", exampleDir, "--backend", "tungsten", "netpol/shop/db")
	require.Zero(t, got.code, got.errout)
	require.Regexp(t, `in Tungsten Fabric: \d+ firewall rules? in addition to those for isolation\n`, got.out)
	require.Regexp(t, `spec\.ingress\[0\] +pass +\[.*app=api.*\] > \[.*app=db.*\] tcp 5432-5432`, got.out)
	require.NotContains(t, got.out, "FLOWS")
	require.NotContains(t, got.out, "ACL")

	got = netloom(t, "probe", "-f", exampleDir, "--backend", "tungsten", "-o", "wide", "shop/api-0->shop/db-0:tcp/5432", "--expect", "allow")
	require.Zero(t, got.code, got.errout)
	require.Contains(t, got.out, "firewall-rule netloom.netloom.")

	got = netloom(t, "probe", "-f", exampleDir, "--backend", "openwrt", "shop/api-0->shop/db-0:tcp/5432")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errout, `--backend: backend "openwrt": expected one of ovn, tungsten`)
}
