package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBlocksThatMayHoldPods asks about pods without addresses, of which the policies allow or except a block.
func TestBlocksThatMayHoldPods(t *testing.T) {
	const workloads = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: shop}
spec: {selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: x}]}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: x, namespace: shop}
spec: `
	to := func(block string) string {
		return `{podSelector: {}, policyTypes: [Egress], egress: [{to: [` + block + `]}]}`
	}
	from := func(block string) string {
		return `{podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress], ingress: [{from: [` + block + `], ports: [{port: 5432}]}]}`
	}
	for _, tc := range []struct {
		name, spec, question string
		code                 int
		noted                string // the rule
	}{
		{"a block of k3s, denied", from(`{ipBlock: {cidr: 10.42.0.0/16}}`), "shop/deploy/web->shop/deploy/db:5432", exitDiffers, "ingress[0]"},
		{"a private block, denied", from(`{ipBlock: {cidr: 172.16.0.0/12}}`), "shop/deploy/web->shop/deploy/db:5432", exitDiffers, "ingress[0]"},
		{"a private block, allowed", from(`{ipBlock: {cidr: 10.0.0.0/8}}`), "shop/deploy/web->shop/deploy/db:5432", exitDone, "ingress[0]"},
		{"an exception, denied", to(`{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}}`), "shop/deploy/web->shop/deploy/db:5432", exitDiffers, "egress[0]"},
		{"an exception, allowed", to(`{ipBlock: {cidr: 0.0.0.0/0, except: [192.168.0.0/16]}}`), "shop/deploy/web->shop/deploy/db:5432", exitDone, "egress[0]"},
		{"another port", from(`{ipBlock: {cidr: 10.42.0.0/16}}`), "shop/deploy/web->shop/deploy/db:80", exitDiffers, ""},
		{"a pair that the policy does not select", from(`{ipBlock: {cidr: 10.42.0.0/16}}`), "shop/deploy/db->shop/deploy/web:5432", exitDone, ""},
		{"an end outside", from(`{ipBlock: {cidr: 10.42.0.0/16}}`), "203.0.113.7->shop/deploy/db:5432", exitDiffers, ""},
		{"allowed by its labels, too", from(`{ipBlock: {cidr: 10.42.0.0/16}}, {podSelector: {matchLabels: {app: web}}}`), "shop/deploy/web->shop/deploy/db:5432", exitDone, ""},
		{"the world", to(`{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16]}}`), "shop/deploy/web->shop/deploy/db:5432", exitDiffers, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.yaml")
			require.NoError(t, os.WriteFile(file, []byte(workloads+tc.spec), 0o600))
			got := netloom(t, "probe", "-f", file, tc.question)
			require.Equal(t, tc.code, got.code, got.out+got.errout)
			if tc.noted == "" {
				require.NotContains(t, got.out, "made up:")
				return
			}
			require.Contains(t, got.out, "an address is made up: the real one may be in the blocks of NetworkPolicy/shop/x spec."+tc.noted+", or not\n")
		})
	}
}
