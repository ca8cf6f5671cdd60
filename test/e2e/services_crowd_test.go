//go:build e2e

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestCrowdedService creates a Service with so many endpoints that OVN cannot install all of them behind an address: ovn-controller would lose
// its connection to the switch with each attempt, and every other Service its backends. It gets 500 in each family, and connections to the others are
// still answered: with 900 endpoints of each family, just over what OVN can install, and with 20,000.
func TestCrowdedService(t *testing.T) {
	const most = 500
	m := newMall(t)
	mustApply(t, m.dir, m.lab.NBUnix())
	m.chassis.SyncHV()
	others := []visit{
		{name: "another service", from: "client", to: vip("1"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-2", "web-3"}},
		{name: "another service that is on its node", from: "client", to: vip("6"), port: 80, want: ovnlab.Answered, by: []string{"web-1"}},
	}
	groups := len(m.chassis.Groups())
	require.Positive(t, groups)
	for _, endpoints := range []int{900, 20_000} {
		writeCrowd(t, m.dir, endpoints)
		_, out := apply(t, m.dir, m.lab.NBUnix())
		require.Contains(t, out, fmt.Sprintf("%d of its %d backends are used", most, endpoints))
		m.chassis.SyncHV()
		buckets := m.chassis.Groups()
		require.Len(t, buckets, groups+2, "a group for each family")
		require.Equal(t, []int{most, most}, buckets[len(buckets)-2:])
		m.visits(t, others)
	}
}

// writeCrowd writes a Service with endpoints of both families, none of which exists, and its slices.
func writeCrowd(t *testing.T, dir string, endpoints int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`apiVersion: v1
kind: Service
metadata: {name: crowd, namespace: shop}
spec: {clusterIP: 10.96.0.200, clusterIPs: [10.96.0.200, "fd00:96::200"], ports: [{port: 80, protocol: TCP}]}
`)
	for i, family := range []struct{ name, format string }{{"IPv4", "10.%d.%d.%d"}, {"IPv6", `"fd00:%x::%x:%x"`}} {
		for n := range endpoints {
			if n%1000 == 0 {
				fmt.Fprintf(&b, `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: crowd-%d-%d, namespace: shop, labels: {kubernetes.io/service-name: crowd}}
addressType: %s
ports: [{port: 8080, protocol: TCP}]
endpoints:
`, i, n/1000, family.name)
			}
			fmt.Fprintf(&b, "- addresses: ["+family.format+"]\n", 100+n/62_500, n/250%250, 1+n%250)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "crowd.yaml"), []byte(b.String()), 0o600))
}
