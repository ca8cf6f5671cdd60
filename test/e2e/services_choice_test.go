//go:build e2e

package e2e_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// chosen is a service, by the number of its addresses, and its endpoints: pods and what their endpoints say besides.
func (m *mall) chosen(number, spec string, endpoints ...[2]string) string {
	var b strings.Builder
	at := vip(number)
	fmt.Fprintf(&b, `---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: chosen-%s}
spec:
  clusterIP: %s
  clusterIPs: [%s, "%s"]
  ports: [{name: http, port: 80, targetPort: 8080, protocol: TCP}, {name: http-udp, port: 80, targetPort: 8080, protocol: UDP}]
  %s
`, number, at[0], at[0], at[1], spec)
	for i, family := range []string{"IPv4", "IPv6"} {
		fmt.Fprintf(&b, `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: shop, name: chosen-%s-%d, labels: {kubernetes.io/service-name: chosen-%s}}
addressType: %s
ports: [{name: http, port: 8080, protocol: TCP}, {name: http-udp, port: 8080, protocol: UDP}]
endpoints:
`, number, i, number, family)
		for _, e := range endpoints {
			fmt.Fprintf(&b, "- {addresses: [\"%s\"], nodeName: %s, %s}\n", m.both(e[0])[i], m.nodeOf(e[0]), e[1])
		}
	}
	return b.String()
}

// nodeOf is the node of a pod.
func (m *mall) nodeOf(pod string) string {
	if slices.ContainsFunc(mallNodes["n2"], func(port string) bool { return podOf(port) == pod }) {
		return "n2"
	}
	return "n1"
}

// TestServiceChoice sends real packets to services that choose among their endpoints by hints, by readiness and by what a
// client was given before. client is on n1, in the zone east, far on n2, in the west.
func TestServiceChoice(t *testing.T) {
	m := newMall(t)
	zone := func(name string) string { return "hints: {forZones: [{name: " + name + "}]}" }
	node := func(name string) string { return "hints: {forNodes: [{name: " + name + "}]}" }
	const unready = "conditions: {ready: false, serving: false, terminating: false}"
	put(t, m.dir, "chosen.yaml", strings.Join([]string{
		// Hints contradict where the endpoints are, to expose a choice by node or of any endpoint.
		m.chosen("21", "trafficDistribution: PreferClose", [2]string{"web-1", zone("east")}, [2]string{"web-2", zone("west")}, [2]string{"web-3", zone("east")}),
		m.chosen("22", "trafficDistribution: PreferSameNode", [2]string{"web-1", node("n2")}, [2]string{"web-3", node("n1")}),
		m.chosen("23", "trafficDistribution: PreferClose", [2]string{"web-1", zone("east")}, [2]string{"web-2", ""}, [2]string{"web-3", zone("west")}),
		m.chosen("24", "publishNotReadyAddresses: true", [2]string{"web-1", unready}, [2]string{"web-3", unready}),
		m.chosen("25", "publishNotReadyAddresses: false", [2]string{"web-1", unready}, [2]string{"web-3", unready}),
		m.chosen("26", "sessionAffinity: ClientIP\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 1}}",
			[2]string{"web-1", ""}, [2]string{"web-2", ""}, [2]string{"web-3", ""}),
	}, ""))
	mustApply(t, m.dir, m.lab.NBUnix())
	m.chassis.SyncHV()
	any3 := []string{"web-1", "web-2", "web-3"}
	m.visits(t, []visit{
		{name: "the endpoints for the client's zone", from: "client", to: vip("21"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-3"}},
		{name: "the endpoint for the other zone", from: "far", to: vip("21"), port: 80, want: ovnlab.Answered, by: []string{"web-2"}},
		{name: "the endpoint for the client's node", from: "client", to: vip("22"), port: 80, want: ovnlab.Answered, by: []string{"web-3"}},
		{name: "the endpoint for the other node", from: "far", to: vip("22"), port: 80, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "hints that not all endpoints have", from: "client", to: vip("23"), port: 80, want: ovnlab.Answered, by: any3},
		{name: "hints that not all endpoints have, elsewhere", from: "far", to: vip("23"), port: 80, want: ovnlab.Answered, by: any3},
		{name: "endpoints that are not ready and published", from: "client", to: vip("24"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-3"}},
		{name: "endpoints that are not ready", from: "client", to: vip("25"), port: 80, want: ovnlab.Refused},
	})
	t.Run("a client is forgotten after a second", func(t *testing.T) { m.forgets(t, vip("26")) })
}

// forgets asks, waits until the chassis has forgotten the client, and asks again, until another backend answers.
func (m *mall) forgets(t *testing.T, to [2]string) {
	t.Helper()
	host := m.hosts["client"]
	for i, protocol := range []string{"tcp", "udp"} {
		at := netip.AddrPortFrom(netip.MustParseAddr(to[i]), 80)
		answered := map[string]bool{}
		for n := 0; len(answered) < 2; n++ {
			require.Less(t, n, 12, "%s %s: only %v ever answered", protocol, at, answered)
			// OVN drops what it learns from.
			by := ""
			await.True(t, func() bool {
				got, outcome, err := host.Ask(t.Context(), protocol, host.Addr(i == 1), at, 200*time.Millisecond)
				require.NoError(t, err)
				by = podOf(got.By)
				// Where a second has passed already, asking again refreshes the entry of the client.
				return outcome == ovnlab.Answered && m.nodes["n1"].Learned() > 0
			}, "an answer, and the client is remembered")
			answered[by] = true
			await.True(t, func() bool { return m.nodes["n1"].Learned() == 0 }, "the client is forgotten")
		}
	}
}
