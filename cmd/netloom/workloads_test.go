package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// workloads is a namespace as repositories declare it: without pods.
const workloads = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 50, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec: {serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: x}]}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec: {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress]}
`

// TestAWorkloadIsOneThing requires that no answer counts or names the pods that stand for those of a workload.
func TestAWorkloadIsOneThing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.yaml")
	require.NoError(t, os.WriteFile(path, []byte(workloads), 0o600))
	for _, tc := range []struct {
		args []string
		want string // a part of what is printed
	}{
		{[]string{"audit"}, "NAMESPACE  WORKLOADS  ISOLATED INGRESS  ISOLATED EGRESS  OPEN TO WORLD  REACH WORLD\n" +
			"shop       2          1                 0                1              2\n"},
		{[]string{"audit"}, "OPEN WORKLOAD    ISOLATED  FROM OUTSIDE       TO OUTSIDE\n" +
			"shop/deploy/web  no        world: everything  world: everything\n" +
			"shop/sts/db      ingress   none               world: everything\n"},
		{[]string{"audit"}, "shop  shop  2 of 4  everything\n"},
		{[]string{"audit"}, "NetworkPolicy/shop/db  unknown  1          0      1 workload\n"},
		{[]string{"audit", "-o", "html"}, "<p>2 workloads in 1 namespaces"},
		{[]string{"lint"}, "not isolated for ingress, 1 of 2 workloads: deploy/web"},
		{[]string{"lint"}, "1 policy judged by 2 workloads\n"},
		{[]string{"translate"}, "NetworkPolicy/shop/db  ingress    1          none   none\n"},
		{[]string{"probe", "ns/shop->shop/deploy/web:80"}, "allow   shop/sts/db -> shop/deploy/web tcp/80\n"},
		{[]string{"probe", "ns/shop->shop/deploy/web:80"}, "allow   shop/deploy/web -> shop/deploy/web tcp/80\n"},
		{[]string{"impact", "--without", "netpol/shop/db"}, " -> shop/sts/db: everything\n"},
		{[]string{"suggest", "shop/deploy/web->shop/sts/db:5432"}, "      app: db\n"},
		{[]string{"suggest", "deploy/shop/web->sts/shop/db:5432"}, "      app: db\n"},
	} {
		got := netloom(t, append(tc.args, "-f", path)...)
		require.Contains(t, got.out, tc.want, strings.Join(tc.args, " "))
		require.NotContains(t, got.out+got.errout, "+1", strings.Join(tc.args, " "))
	}
	complete := func(args ...string) string {
		names, _, _ := strings.Cut(netloom(t, append([]string{"__complete"}, args...)...).out, ":")
		return names
	}
	require.Equal(t, "shop/deploy/web\nshop/sts/db-0\nshop/sts/db-1\n", complete("probe", "-f", path, "shop/"))
	require.Equal(t, "deploy/shop/web\n", complete("probe", "-f", path, "dep"))
	require.Equal(t, "sts/shop/db\n", complete("explain", "-f", path, "sts/"))
}
