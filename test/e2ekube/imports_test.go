//go:build e2e

package e2ekube_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	mcs "sigs.k8s.io/mcs-api/config/crd"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// imported is what an MCS controller creates in the cluster for a Service that two clusters export.
const imported = `
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: {namespace: shop, name: web}
spec: {type: ClusterSetIP, ips: [10.110.0.1], ports: [{name: http, port: 8000, protocol: TCP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  namespace: shop
  name: web-a
  labels: {multicluster.kubernetes.io/service-name: web, multicluster.kubernetes.io/source-cluster: a}
addressType: IPv4
ports: [{name: http, port: 80, protocol: TCP}]
endpoints: [{addresses: [WEB]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  namespace: shop
  name: web-b
  labels: {multicluster.kubernetes.io/service-name: web, multicluster.kubernetes.io/source-cluster: b}
addressType: IPv4
ports: [{name: http, port: 80, protocol: TCP}]
endpoints: [{addresses: [10.245.1.10]}]
`

// TestServicesOfSeveralClusters starts netloom in a cluster without the kinds of the Multi-Cluster Services API. Once they are
// defined, packets to the address of an import go to endpoints of both clusters, and to no other when one leaves.
func TestServicesOfSeveralClusters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.peopled()
	w.netloom.AwaitReady()
	resource := w.defineServiceImports()
	w.kube.Apply(strings.Replace(imported, "WEB", web.v4, 1))
	own, remote := netip.AddrPortFrom(web.addr(false), 80), netip.MustParseAddrPort("10.245.1.10:80")
	w.importLeadsTo(own, remote)

	require.NoError(t, w.kube.Client().DiscoveryV1().EndpointSlices("shop").Delete(t.Context(), "web-b", metav1.DeleteOptions{}))
	w.importLeadsTo(own)
	require.NoError(t, resource.Namespace("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	await.True(t, func() bool {
		return strings.TrimSpace(w.ovn.NBCtl("--bare", "--columns=name", "find", "Load_Balancer", "external_ids:netloom.io/namespace=shop")) == ""
	}, "the load balancer is gone")
	requireNothingForbidden(t, w.kube)
}

// defineServiceImports adds the CRD of ServiceImports, and returns where they are.
func (w *world) defineServiceImports() dynamic.NamespaceableResourceInterface {
	w.t.Helper()
	w.kube.Apply(string(mcs.ServiceImportCRD))
	resource := w.kube.Objects().Resource(mcsv1alpha1.SchemeGroupVersion.WithResource(mcsv1alpha1.ServiceImportPluralName))
	await.True(w.t, func() bool {
		_, err := resource.List(w.t.Context(), metav1.ListOptions{})
		return err == nil
	}, "the server has ServiceImports")
	return resource
}

// importLeadsTo waits until packets of a pod to the import go to the given endpoints.
func (w *world) importLeadsTo(want ...netip.AddrPort) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.netloom.Running()
		w.ovn.Sync()
		tracer := w.ovn.Tracer()
		defer tracer.Close()
		got := tracer.Balance(ovnlab.Flow{Src: db.addr(false), Dst: netip.MustParseAddr("10.110.0.1"), Protocol: "tcp", Port: 8000})
		return slices.Equal(slices.SortedFunc(slices.Values(got.Backends), netip.AddrPort.Compare), want)
	}, "the import has its endpoints")
}
