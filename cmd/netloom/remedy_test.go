package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// denying is a namespace in which a policy for all pods denies everything.
const denying = `apiVersion: apps/v1
kind: Deployment
metadata: {name: front, namespace: shop}
spec: {selector: {matchLabels: {app: front}}, template: {metadata: {labels: {app: front}}, spec: {containers: [{name: c, image: x}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, namespace: shop}
spec: {selector: {matchLabels: {app: cache}}, template: {metadata: {labels: {app: cache}}, spec: {containers: [{name: c, image: x}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: vault, namespace: shop}
spec: {selector: {matchLabels: {app: vault}}, template: {metadata: {labels: {app: vault}}, spec: {containers: [{name: c, image: x}]}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: shop}
spec: {podSelector: {}, policyTypes: [Ingress]}
`

// TestAdviceOpensNoMore follows what probe advises and requires that nothing but the connection in question is opened.
func TestAdviceOpensNoMore(t *testing.T) {
	dir := t.TempDir()
	before, after := filepath.Join(dir, "be fore"), filepath.Join(dir, "after")
	for _, d := range []string{before, after} {
		require.NoError(t, os.Mkdir(d, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(d, "shop.yaml"), []byte(denying), 0o600))
	}
	got := netloom(t, "probe", "-f", before, "-n", "shop", "deploy/front->deploy/cache:7070")
	require.Equal(t, exitDiffers, got.code)
	require.Contains(t, got.out, "    - ingress of shop/deploy/cache: add a rule from shop/deploy/front on tcp/7070 in a policy that selects only it\n")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	command, ok := strings.CutPrefix(lines[len(lines)-1], "for policies that allow this and nothing else: netloom ")
	require.True(t, ok, got.out)
	require.Equal(t, "suggest -f '"+before+"' -n shop 'deploy/front->deploy/cache:7070'", command)

	written := netloom(t, words(command)...)
	require.Equal(t, exitDone, written.code, written.errout)
	require.NoError(t, os.WriteFile(filepath.Join(after, "suggested.yaml"), []byte(written.out), 0o600))
	opened := netloom(t, "impact", "--from", before, "--to", after)
	require.Equal(t, "+ shop/deploy/front -> shop/deploy/cache: tcp/7070\n", opened.out)
}

func TestNoCommandIsAdvisedThatCannotHelp(t *testing.T) {
	const advice = "for policies that allow this"
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(denying), 0o600))
	for name, args := range map[string][]string{
		"allowed":      {"deploy/front->192.0.2.1:80"},
		"expected":     {"deploy/front->deploy/cache:7070", "--expect", "deny"},
		"other output": {"deploy/front->deploy/cache:7070", "-o", "json"},
	} {
		got := netloom(t, append([]string{"probe", "-f", dir, "-n", "shop"}, args...)...)
		require.NotContains(t, got.out+got.errout, advice, name)
	}
	require.Contains(t, netloom(t, "probe", "-f", dir, "-n", "shop", "deploy/front->deploy/cache:7070").out, advice)
}
