package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// twoSpaces has a pod and a policy in each of two namespaces.
const twoSpaces = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: bank, labels: {app: web}}
status: {podIP: 10.0.0.2}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: open, namespace: shop}
spec: {podSelector: {matchLabels: {app: wbe}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: open, namespace: bank}
spec: {podSelector: {matchLabels: {app: wbe}}}
`

// TestNamespaceOfTheCommandLine asks every command that has -n about a namespace that does not exist, and about one that does.
func TestNamespaceOfTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	file, expectations := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.txt")
	require.NoError(t, os.WriteFile(file, []byte(twoSpaces), 0o600))
	require.NoError(t, os.WriteFile(expectations, []byte("expectations:\n- {from: shop/web, to: 'bank/web:80', expect: allow}\n"), 0o600))
	for _, args := range [][]string{
		{"audit", "-f", file},
		{"lint", "-f", file},
		{"translate", "-f", file},
		{"explain", "-f", file, "netpol/open"},
		{"probe", "-f", file, "web->bank/web:80"},
		{"suggest", "-f", file, "web->bank/web:80"},
		{"impact", "-f", file, "--without", "netpol/shop/open"},
		{"impact", "--from", file, "--to", file},
		{"plan", "-f", file, "--without", "netpol/shop/open"},
		{"plan", "-f", file, "--ovn-nb", "unix:" + filepath.Join(dir, "none.sock")},
		{"drift", "-f", file, "--ovn-nb", "unix:" + filepath.Join(dir, "none.sock")},
		{"apply", "-f", file, "--ovn-nb", "unix:" + filepath.Join(dir, "none.sock")},
		{"test", "-f", file, expectations},
	} {
		t.Run(strings.Join(args[:1], " ")+" "+args[1], func(t *testing.T) {
			got := netloom(t, append(args, "-n", "nosuch")...)
			require.Equal(t, exitFailed, got.code, got.out+got.errout)
			require.Contains(t, got.errout, "-n nosuch: no such namespace in "+file)
			require.Empty(t, got.out)
			if args[0] != "drift" && args[0] != "apply" && !strings.Contains(strings.Join(args, " "), "--ovn-nb") {
				require.NotContains(t, netloom(t, append(args, "-n", "shop")...).errout, "no such namespace")
			}
		})
	}
	for _, command := range []string{"plan", "drift", "apply"} {
		got := netloom(t, command, "-f", file, "-n", "shop", "--ovn-nb", database(t).Addr())
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.errout, "-n shop: NetworkPolicy/bank/open is in another namespace, and a database has the rows of all: leave out -n")
	}
	require.Contains(t, netloom(t, "plan", "-f", file, "-n", "shop", "--without", "netpol/open").errout, "note: the plan is for all namespaces")
	got := netloom(t, "lint", "-f", file, "-n", "shop")
	require.Equal(t, exitDiffers, got.code)
	require.Contains(t, got.out, "NetworkPolicy/shop/open")
	require.Contains(t, got.out, "Namespace/shop")
	require.NotContains(t, got.out, "bank")
	require.Contains(t, got.out, "1 policy judged by")
	got = netloom(t, "translate", "-f", file, "-n", "shop")
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.out, "NetworkPolicy/shop/open")
	require.NotContains(t, got.out, "bank")
	require.NotContains(t, netloom(t, "translate", "-f", file, "-n", "shop", "-o", "json").out, "bank")
	without := []string{"impact", "-f", filepath.Join("testdata", "inputs", "two-spaces.yaml"), "--without", "netpol/shop/web"}
	require.Contains(t, netloom(t, append(without, "-n", "shop")...).out, "+ ")
	require.Equal(t, exitDiffers, netloom(t, append(without, "-n", "shop")...).code)
	got = netloom(t, append(without, "-n", "bank")...)
	require.Equal(t, exitDone, got.code, "%s%s", got.out, got.errout)
	require.NotContains(t, got.out, "shop")
	got = netloom(t, "audit", "-f", file, "-n", "shop", "-o", "csv")
	require.Equal(t, exitDone, got.code)
	require.Contains(t, got.out, "shop")
	require.NotContains(t, got.out, "NetworkPolicy/bank/open")
	require.NotContains(t, got.out, "bank/web")
	require.Contains(t, netloom(t, "audit", "-f", file, "-n", "shop").out, "all        1")
}
