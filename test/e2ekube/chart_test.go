//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestChartRuns runs what the chart renders, without Services, and without rights to them.
func TestChartRuns(t *testing.T) {
	t.Parallel()
	kube, ovn := startKube(t), startOVN(t)
	kube.Apply(nodes + namespaces + `{apiVersion: v1, kind: Namespace, metadata: {name: chart}}`)
	objects := helm(t, "chart", map[string]any{"ovn-nb": []any{ovn.NBTCP()}, "ovn-port-names": "ovn-kubernetes", "services": false, "drift-interval": "1m"}, nil)
	require.NotContains(t, resourcesOf(rightsOf(t, objects)), "services")
	kube.ApplyObjects(objects)
	w := &world{t: t, kube: kube, ovn: ovn, netloom: run(t, kube, "chart", "netloom")}
	w.netloom.AwaitReady()
	require.True(t, w.netloom.Alive())
	w.peopled()
	kube.Apply(policies + "---" + service)
	w.converge()
	require.Zero(t, ovn.Rows("Load_Balancer"))
	w.classicEndpoints()
	for _, r := range kube.Audit("system:serviceaccount:chart:netloom") {
		require.False(t, r.Forbidden, "forbidden: %+v", r)
	}
}

// classicEndpoints makes the chart load balance by Endpoints, with the rights that it gives for that.
func (w *world) classicEndpoints() {
	w.t.Helper()
	objects := helm(w.t, "chart", map[string]any{"ovn-nb": []any{w.ovn.NBTCP()}, "ovn-port-names": "ovn-kubernetes", "endpoints-api": "endpoints"}, nil)
	rights := rightsOfRole(w.t, objects, "netloom-services")
	require.NotContains(w.t, resourcesOf(rights), "endpointslices")
	w.kube.ApplyObjects(objects)
	w.end()
	w.netloom = run(w.t, w.kube, "chart", "netloom")
	w.netloom.AwaitReady()
	w.kube.Apply(fmt.Sprintf(`
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: classic}, spec: {clusterIP: 10.96.7.7, ports: [{port: 8000}]}}
---
{apiVersion: v1, kind: Endpoints, metadata: {namespace: shop, name: classic}, subsets: [{addresses: [{ip: %s}], ports: [{port: 80}]}]}
`, web.v4))
	to := ovnlab.Flow{Src: prober.addr(false), Dst: netip.MustParseAddr("10.96.7.7"), Protocol: "tcp", Port: 8000}
	await.True(w.t, func() bool {
		w.netloom.Running()
		w.ovn.Sync()
		tracer := w.ovn.Tracer()
		defer tracer.Close()
		return slices.Equal(tracer.Balance(to).Backends, []netip.AddrPort{netip.AddrPortFrom(web.addr(false), 80)})
	}, "Endpoints are balanced")
	watch := slices.DeleteFunc(rights, func(r right) bool { return r.verb != "watch" })
	require.Len(w.t, watch, 3, "Services, Endpoints and ServiceImports")
	require.Empty(w.t, unused(w.kube, "system:serviceaccount:chart:netloom", watch), "unused")
}
