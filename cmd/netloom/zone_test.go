package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// zonePods are a pod on each of two nodes, and a policy for each.
const zonePods = `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: here, labels: {app: here}}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Running, podIPs: [{ip: 10.0.1.1}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: there, labels: {app: there}}
spec: {nodeName: n2, containers: [{name: c}]}
status: {phase: Running, podIPs: [{ip: 10.0.2.1}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: for-here}
spec: {podSelector: {matchLabels: {app: here}}, ingress: [{from: [{podSelector: {}}]}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: for-there}
spec: {podSelector: {matchLabels: {app: there}}, ingress: [{from: [{podSelector: {}}]}]}
`

func TestPlanOfOneNode(t *testing.T) {
	dir, server := t.TempDir(), database(t)
	write(t, dir, "all.yaml", zonePods)
	require.NoError(t, server.AddPort("sw", "shop_here", nil))
	got := netloom(t, "plan", "-f", dir, "--ovn-nb", server.Addr(), "--zone-node", "n1")
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, "shop/for-here")
	require.NotContains(t, got.out, "shop/for-there")

	got = netloom(t, "plan", "-f", dir, "--without", "networkpolicy/shop/for-there", "--zone-node", "n1")
	require.Equal(t, exitDone, got.code, got.errout)
	got = netloom(t, "plan", "-f", dir, "--without", "networkpolicy/shop/for-there", "--zone-node", "n2")
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, "- ACL shop/for-there ingress[0]")

	got = netloom(t, "apply", "--manifests", dir, "--ovn-nb", server.Addr(), "--zone-node", "n3")
	require.Equal(t, exitCannotTell, got.code)
	require.Contains(t, got.errout, "Node/n3: there is no such node and no pod on it")
}

func TestQuestionsAreForAllNodes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "all.yaml", zonePods)
	for _, args := range [][]string{
		{"probe", "-f", dir, "shop/here->shop/there:80"},
		{"explain", "-f", dir, "pod/shop/there"},
		{"test", "-f", dir, "x.yaml"},
		{"translate", "-f", dir},
		{"impact", "-f", dir, "--without", "networkpolicy/shop/for-there"},
	} {
		got := netloom(t, append(args, "--zone-node", "n1")...)
		require.Equal(t, exitFailed, got.code, args)
		require.Contains(t, got.errout, "--zone-node", args)
		require.Contains(t, got.errout, "the answer covers all nodes", args)
	}
}
