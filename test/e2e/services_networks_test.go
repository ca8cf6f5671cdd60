//go:build e2e

package e2e_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// twoNetworks are two services of one external address, of the default network and of the network blue, and one that only blue has.
const twoNetworks = `apiVersion: v1
kind: Service
metadata: {namespace: shop, name: here}
spec: {clusterIP: 10.97.0.1, clusterIPs: [10.97.0.1], externalIPs: [198.51.100.77], ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: shop, name: here-1, labels: {kubernetes.io/service-name: here}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: ["10.244.1.21"]}]
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: there-too, annotations: {netloom.io/network: blue}}
spec: {clusterIP: 10.97.0.3, clusterIPs: [10.97.0.3], externalIPs: [198.51.100.77], ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: shop, name: there-too-1, labels: {kubernetes.io/service-name: there-too}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: ["10.244.2.23"]}]
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: only-there, annotations: {ovn.kubernetes.io/vpc: blue}}
spec: {clusterIP: 10.97.0.2, clusterIPs: [10.97.0.2], ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: shop, name: only-there-1, labels: {kubernetes.io/service-name: only-there}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: ["10.244.2.23"]}]
`

// TestServicesOfNetworks puts services into two logical networks and asks ovn-trace which of them the switches of each
// serve: client is on a switch of the default network, far on one of blue.
func TestServicesOfNetworks(t *testing.T) {
	dir := gather(t, "testdata/services") + "/services"
	put(t, dir, "networks.yaml", twoNetworks)
	cluster := load(t, dir)
	lab := ovnlab.Start(t)
	lab.Install(network(t, cluster, vips(cluster)...))
	// The switch of far is connected to a router of that name, too.
	lab.NBCtl("lr-add", "blue", "--", "lrp-add", "blue", "blue-ls1", "0a:06:00:00:00:01", "10.244.2.253/24", "--",
		"lsp-add", "ls1", "ls1-blue", "--", "lsp-set-type", "ls1-blue", "router", "--", "lsp-set-addresses", "ls1-blue", "router", "--",
		"lsp-set-options", "ls1-blue", "router-port=blue-ls1")
	client, far := netip.MustParseAddr("10.244.1.11"), netip.MustParseAddr("10.244.2.13")
	both, blue := netip.MustParseAddr("198.51.100.77"), netip.MustParseAddr("10.97.0.2")
	here, there := []string{"10.244.1.21:8080"}, []string{"10.244.2.23:8080"}
	for _, tc := range []struct {
		name, switches, networks   string
		fromBoth, farBoth, farBlue []string
	}{
		{"by a list", "ls0,blue=ls1", "blue", here, there, there},
		{"by the router of that name", "ls0", "blue", here, there, there},
		{"a network that services may not name", "ls0", "red", here, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out := apply(t, dir, lab.NBUnix(), "--force", "--ovn-lb-switches", tc.switches, "--ovn-service-networks", tc.networks)
			require.Equal(t, inSync, code, out)
			require.Equal(t, tc.farBlue == nil, strings.Contains(out, "ovn-service-networks"), "a skip is reported: %s", out)
			lab.Sync()
			tracer := lab.Tracer()
			defer tracer.Close()
			for _, probe := range []struct {
				from, to netip.Addr
				want     []string
			}{
				{client, both, tc.fromBoth}, {far, both, tc.farBoth}, {far, blue, tc.farBlue}, {client, blue, nil},
			} {
				got := tracer.Balance(ovnlab.Flow{Src: probe.from, Dst: probe.to, Protocol: "tcp", Port: 80})
				var chosen []string
				for _, at := range got.Backends {
					chosen = append(chosen, at.String())
				}
				require.Equal(t, probe.want, chosen, "%s -> %s", probe.from, probe.to)
				require.False(t, got.Refused, "%s -> %s", probe.from, probe.to)
			}
		})
	}
}
