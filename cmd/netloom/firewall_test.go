package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const shopFirewall = `apiVersion: k8s.ovn.org/v1
kind: EgressFirewall
metadata: {name: default, namespace: shop}
spec:
  egress:
  - {type: Allow, to: {cidrSelector: 203.0.113.0/24}, ports: [{protocol: TCP, port: 443}]}
  - {type: Deny, to: {cidrSelector: 0.0.0.0/0}}
`

// TestFirewallsOfACluster reads an EgressFirewall from a Kubernetes API, and the same from a file.
func TestFirewallsOfACluster(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pods.yaml", servedPods)
	write(t, dir, "firewall.yaml", shopFirewall)
	home := t.TempDir()
	write(t, home, "config", kubeconfigOf(objectsAPI(t, dir)))
	for name, source := range map[string][]string{"files": {"-f", dir}, "a cluster": {"--kubeconfig", filepath.Join(home, "config")}} {
		t.Run(name, func(t *testing.T) {
			ask := func(question string) outcome { return netloom(t, append([]string{"probe", question}, source...)...) }
			require.Equal(t, exitDone, ask("shop/web-0->203.0.113.7:443").code)
			require.Equal(t, exitDone, ask("shop/web-0->shop/db-0:443").code, "it does not concern pods")
			got := ask("shop/web-0->203.0.113.7:80")
			require.Equal(t, exitDiffers, got.code, got.errout)
			require.Contains(t, got.out, "egress   deny    admin tier: Deny by EgressFirewall/shop/default spec.egress[1]")
			got = netloom(t, append([]string{"probe", "-o", "wide", "shop/web-0->203.0.113.7:80"}, source...)...)
			require.NotContains(t, got.out, "row ", "netloom writes no row for it")
			got = netloom(t, append([]string{"impact", "--without", "egressfirewall/shop/default"}, source...)...)
			require.Equal(t, exitDiffers, got.code, got.errout)
			require.Regexp(t, `(?m)^\+ shop/db-0, shop/web-0 -> outside .*: everything$`, got.out)
		})
	}
}
