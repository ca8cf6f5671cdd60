package manifest

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

// TestObjectsOfOtherReleases reads what `kubectl get -o yaml` prints in clusters of other releases: fields that Kubernetes has removed
// since, that it has not had yet, and that only a server sets.
func TestObjectsOfOtherReleases(t *testing.T) {
	content, err := os.ReadFile("testdata/exported.yaml")
	require.NoError(t, err)
	d := Load("exported.yaml", content, Options{}, quiet())
	require.Empty(t, d.Problems())
	require.Equal(t, map[string]int{
		"NetworkPolicy status":                     2,
		"Namespace spec.futureField":               1,
		"Node status.futureField":                  1,
		"Pod metadata.clusterName":                 1,
		"Pod spec.containers.futureField":          1,
		"Pod spec.resourceClaims.source":           1,
		"Pod status.containerStatuses.futureField": 1,
		"Service status.futureField":               1,
	}, d.Unknown())
	for _, ref := range []object.Ref{
		{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "of-1-24"},
		{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "of-1-26"},
		{Kind: object.KindPod, Namespace: "shop", Name: "web"},
		{Kind: object.KindService, Namespace: "shop", Name: "web"},
	} {
		_, there := d.Get(ref)
		require.True(t, there, ref)
	}
}

func TestUnknownFieldsThatMayMatter(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop%s}\nspec: {containers: [{name: c, image: x%s}]%s}\nstatus: {podIP: 10.0.0.1%s}\n"
	inPod := func(metadata, container, spec, status string) string {
		return fmt.Sprintf(pod, metadata, container, spec, status)
	}
	for _, tc := range []struct{ name, content, want string }{
		{"a rule of a NetworkPolicy", policy("web", "  podSelector: {}\n  ingress: [{form: []}]\n"), "spec.ingress[0].form: unknown field"},
		{"a part of a NetworkPolicy", policy("web", "  podSelector: {}\n") + "specs: {}\n", "specs: unknown field"},
		{"misspelt labels", inPod(", lables: {app: web}", "", "", ""), "metadata.lables: unknown field"},
		{"labels in capitals", inPod(", LABELS: {app: web}", "", "", ""), "metadata.LABELS: unknown field"},
		{"a port without its plural", inPod("", ", port: [{containerPort: 80}]", "", ""), "spec.containers[0].port: unknown field"},
		{"a field in another case", inPod("", "", ", hostnetwork: true", ""), "spec.hostnetwork: unknown field"},
		{"an abbreviated field", inPod("", "", ", hostNet: true", ""), "spec.hostNet: unknown field"},
		{"addresses in another case", inPod("", "", "", ", podIps: [{ip: 10.0.0.2}]"), "status.podIps: unknown field"},
		{
			"a part of a Service", "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {clusterIP: 10.96.0.1, ports: [{port: 80}], topologyKeys: ['*']}\n",
			"spec.topologyKeys: unknown field",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := Load("a.yaml", []byte(tc.content), Options{}, quiet())
			require.Empty(t, d.Unknown())
			require.Len(t, d.Problems(), 1)
			require.Contains(t, d.Problems()[0].What(), tc.want)
		})
	}
}
