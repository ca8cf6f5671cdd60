package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhichServicesAreRead(t *testing.T) {
	dir, server := manifests(t), database(t)
	write(t, dir, "services.yaml", `
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: nowhere, ports: [{port: 5432}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: db, namespace: shop}
subsets: [{addresses: [{ip: nowhere}]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop}
addressType: nowhere
endpoints: []
`)
	for _, tc := range []struct {
		name     string
		args     []string
		want     []string // kinds with problems
		wantNone []string
	}{
		{name: "all", want: []string{"Service/shop/db", "Endpoints/shop/db", "EndpointSlice/shop/db-1"}},
		{
			name: "slices", args: []string{"--endpoints-api", "slices"},
			want: []string{"Service/shop/db", "EndpointSlice/shop/db-1"}, wantNone: []string{"Endpoints/shop/db"},
		},
		{
			name: "Endpoints", args: []string{"--endpoints-api", "endpoints"},
			want: []string{"Service/shop/db", "Endpoints/shop/db"}, wantNone: []string{"EndpointSlice/shop/db-1"},
		},
		{
			name: "none", args: []string{"--services=false"},
			wantNone: []string{"Service/shop/db", "Endpoints/shop/db", "EndpointSlice/shop/db-1"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"apply", "--dry-run", "--manifests", dir, "--ovn-nb", server.Addr()}, tc.args...)
			got := netloom(t, args...)
			for _, object := range tc.want {
				require.Contains(t, got.errout, object)
			}
			for _, object := range tc.wantNone {
				require.NotContains(t, got.errout, object)
			}
			require.Equal(t, len(tc.want) > 0, got.code == exitCannotTell, got.errout)
		})
	}
}
