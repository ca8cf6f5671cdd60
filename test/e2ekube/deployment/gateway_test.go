package deployment

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestGatewayManual renders what docs/gateway.md applies, and finds the objects that it names.
func TestGatewayManual(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/gateway.md")
	require.NoError(t, err)
	manual := string(raw)
	var objects []*unstructured.Unstructured
	for _, m := range regexp.MustCompile(`kubectl .*apply -([kf])\s+deploy/(\S+?\b)[\s`+"`"+`]`).FindAllStringSubmatch(manual, -1) {
		path := filepath.Join("../../../deploy", m[2])
		if m[1] == "k" {
			rendered, err := Kustomize(path)
			require.NoError(t, err)
			objects = append(objects, rendered...)
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		parsed, err := parse(path, text)
		require.NoError(t, err)
		objects = append(objects, parsed...)
	}
	for _, want := range [][2]string{
		{"ServiceAccount", "netloom-gateway-upstream"},
		{"CustomResourceDefinition", "upstreamclusters.proxy.kubegateway.io"},
		{"Service", "netloom-gateway"},
		{"ClusterRole", "netloom-gateway-shared-watches"},
	} {
		require.NotNil(t, Find(objects, want[0], want[1]), want[1])
		require.Contains(t, manual, strings.TrimSuffix(want[1], ".proxy.kubegateway.io"))
	}
	volumes := podOf(t, Find(objects, "Deployment", "netloom-gateway")).Volumes
	require.Contains(t, manual, "create secret tls "+volumes[0].Secret.SecretName+" ")

	block := regexp.MustCompile("(?s)```yaml\n# kustomization.yaml\n(.*?)```").FindStringSubmatch(manual)
	require.NotNil(t, block)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	from, err := filepath.Abs(kustomizeDir)
	require.NoError(t, err)
	from, err = filepath.Rel(dir, from)
	require.NoError(t, err)
	text := strings.ReplaceAll(block[1], "github.com/netloom/netloom/deploy/kustomize", from)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600))
	objects, err = Kustomize(dir)
	require.NoError(t, err)
	env := podOf(t, Find(objects, "Deployment", "netloom-gateway")).Containers[0].Env
	require.Contains(t, env, corev1.EnvVar{Name: "NETLOOM_GATEWAY_SHARED_WATCHES", Value: "true"})
	require.Contains(t, env, corev1.EnvVar{Name: "NETLOOM_GATEWAY_LISTEN", Value: ":6443"})
	for _, kind := range []string{"PodMonitor", "PrometheusRule", "NetworkPolicy"} {
		require.NotNil(t, Find(objects, kind, "netloom-gateway"), kind)
	}
}

// TestNetworkPolicyOfTheGateway checks that the policy selects the pods of the gateway, and opens every port of theirs.
func TestNetworkPolicyOfTheGateway(t *testing.T) {
	requireOpen(t, composed(t, "gateway", "gateway-network-policy"), "netloom-gateway", "netloom-gateway")
}
