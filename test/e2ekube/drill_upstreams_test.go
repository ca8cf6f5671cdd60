//go:build e2e

package e2ekube_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// TestDrillManyUpstreams has somebody create UpstreamClusters whose API servers refuse connections, many more than the gateway serves. The
// oldest cluster is served all the time, and the gateway says how many are not.
func TestDrillManyUpstreams(t *testing.T) {
	t.Parallel()
	const served = 64
	many := 300
	if *drillsFlag {
		many = 3000
	}
	host := startKube(t)
	g := newGatewayRig(t, map[string]*kubelab.Lab{"a.example": host}, "  dispatchPolicies: ["+everyRequest+"]\n")
	definition, err := os.ReadFile(root + "/deploy/crds/proxy.kubegateway.io_upstreamclusters.yaml")
	require.NoError(t, err)
	host.Apply(string(definition))
	config := host.Config()
	config.QPS = -1
	objects, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	clusters := objects.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster))
	await.True(t, func() bool {
		_, err := clusters.List(t.Context(), metav1.ListOptions{})
		return err == nil
	}, "the server has UpstreamClusters")
	text, err := os.ReadFile(g.file("a.example"))
	require.NoError(t, err)
	host.Apply(string(text))
	health := ovnlab.FreeAddress(t)
	g.start("--clusters=", "--kubeconfig="+host.Kubeconfig(), "--metrics-listen="+health, fmt.Sprintf("--max-clusters=%d", served))
	client := g.client("a.example", nil)
	read := func() (took []time.Duration) {
		for range 50 {
			began := time.Now()
			require.NoError(t, once(t, client))
			took = append(took, time.Since(began))
		}
		return took
	}
	alone, before := read(), peakOf(g.process.PID())

	var beside []time.Duration
	for i := range many {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(fmt.Appendf(nil, `{apiVersion: proxy.kubegateway.io/v1alpha1, kind: UpstreamCluster, metadata: {name: "z%d.example"},
			spec: {servers: [{endpoint: "https://127.0.0.1:1"}], dispatchPolicies: [%s]}}`, i, everyRequest), &o.Object))
		_, err := clusters.Create(t.Context(), o, metav1.CreateOptions{})
		require.NoError(t, err)
		if i%(many/10) == 0 {
			beside = append(beside, read()...)
		}
	}
	told := fmt.Sprintf("%d clusters are not served: older ones take all %d places", many+1-served, served)
	await.True(t, func() bool { return strings.Contains(get(t, "http://"+health+"/readyz"), told) }, "%s", told)
	beside = append(beside, read()...)
	require.InDelta(t, many+1-served, sample(get(t, "http://"+health+"/metrics"), "netloom_gateway_clusters_beyond_limit"), 0)
	require.Less(t, peakOf(g.process.PID())-before, int64(served)*2<<20+int64(many)*32<<10, "memory for those that are served, and a little for each object")
	reportDrill(t, g.process.PID(), fmt.Sprintf("%d UpstreamClusters whose API servers refuse connections, where the gateway serves %d", many, served), "–",
		fmt.Sprintf("a get: %v, alone %v", quantile(beside, 0.99).Round(time.Millisecond/10), quantile(alone, 0.99).Round(time.Millisecond/10)),
		"`/readyz`: `"+told+"`; the condition `Accepted=False`, `Beyond`")
}
