package translator_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

// newImport is the ServiceImport shop/web. Its spec is YAML.
func newImport(t *testing.T, spec string) *mcsv1alpha1.ServiceImport {
	t.Helper()
	i := &mcsv1alpha1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &i.Spec))
	return i
}

// importedSlice is a slice of shop/web with an endpoint of a cluster.
func importedSlice(cluster, addr string) *discoveryv1.EndpointSlice {
	s := newSlice("web-"+cluster, "", addr)
	s.Labels = map[string]string{mcsv1alpha1.LabelServiceName: "web", mcsv1alpha1.LabelSourceCluster: cluster}
	node := "n1"
	e := &s.Endpoints[0]
	e.NodeName, e.TargetRef = &node, &corev1.ObjectReference{Kind: object.KindPod, Namespace: "shop", Name: "web-0"}
	e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}}
	return s
}

func TestServiceImportHasBackendsOfEveryCluster(t *testing.T) {
	tr := translator.New(translator.Options{Cluster: "a"})
	put(t, tr, newImport(t, `{type: ClusterSetIP, ips: [10.110.0.1, "fd00::1"], ports: [{port: 80}], sessionAffinity: ClientIP}`))
	put(t, tr, importedSlice("a", "10.244.0.1"))
	put(t, tr, importedSlice("b", "10.245.0.1"))
	s := tr.Snapshot()
	require.Empty(t, tr.Problems())
	lb := s.LoadBalancer(intent.LoadBalancerID("a/ServiceImport/shop/web"))
	require.NotNil(t, lb)
	require.Equal(t, uint32(10800), lb.Affinity)
	require.Len(t, lb.Frontends, 2)
	require.Zero(t, lb.Frontends[1].Backends.Len(), "there is no endpoint of that family")
	behind := slices.Collect(lb.Frontends[0].Backends.All())
	local, remote := behind[0], behind[1]
	require.Equal(t, object.Key{Cluster: "a", Namespace: "shop", Name: "web-0"}, local.Key)
	require.Equal(t, "n1", local.Node)
	require.Equal(t, []string{"z"}, local.ForZones)
	require.Equal(t, object.Key{Cluster: "b", Namespace: "shop", Name: "web-0"}, remote.Key)
	require.Empty(t, remote.Node, "a node of that name here is another one")
	require.Empty(t, remote.ForZones)

	tr.Remove(object.KindServiceImport, "shop", "web")
	require.Zero(t, tr.Snapshot().LoadBalancerCount())
}

func TestFaultyServiceImports(t *testing.T) {
	for _, tc := range []struct{ name, spec, wantProblem string }{
		{"an address that is none", `{type: ClusterSetIP, ips: [web], ports: [{port: 80}]}`, `spec.ips[0]: "web" is not an IP address; it is ignored`},
		{"an unknown type", `{type: Other, ips: [10.110.0.1], ports: [{port: 80}]}`, `spec.type: "Other": expected ClusterSetIP or Headless; ClusterSetIP is used`},
		{"a port that is none", `{type: ClusterSetIP, ips: [10.110.0.1], ports: [{port: 0}]}`, `spec.ports[0].port: 0: expected 1 to 65535; it is ignored`},
		{"another protocol", `{type: ClusterSetIP, ips: [10.110.0.1], ports: [{port: 80, protocol: ICMP}]}`, `spec.ports[0].protocol: "ICMP": expected TCP, UDP or SCTP; the port is ignored`},
		{"headless", `{type: Headless, ips: [10.110.0.1], ports: [{port: 80}]}`, ""},
		{"without an address yet", `{type: ClusterSetIP, ports: [{port: 80}]}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := translator.New(translator.Options{})
			put(t, tr, newImport(t, tc.spec))
			put(t, tr, newService(t, "web", 0, plain))
			require.NotNil(t, tr.Snapshot().LoadBalancer(intent.LoadBalancerID("Service/shop/web")), "a Service of the same name has no part in it")
			if tc.wantProblem == "" {
				require.Empty(t, tr.Problems())
				require.Equal(t, 1, tr.Snapshot().LoadBalancerCount())
				return
			}
			require.Len(t, tr.Problems(), 1)
			require.Equal(t, "ServiceImport/shop/web: "+tc.wantProblem, tr.Problems()[0].Error())
		})
	}
}
