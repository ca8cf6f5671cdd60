package deployment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRecipeForACertificate renders the overlay that the README shows for a certificate that Prometheus can check.
func TestRecipeForACertificate(t *testing.T) {
	readme, err := os.ReadFile("../../../deploy/README.md")
	require.NoError(t, err)
	_, recipe, found := strings.Cut(string(readme), "With `secure-metrics` netloom creates its own certificate")
	require.True(t, found)
	_, recipe, found = strings.Cut(recipe, "```yaml\n")
	require.True(t, found)
	recipe, _, found = strings.Cut(recipe, "```")
	require.True(t, found)
	for overlay, kind := range map[string]string{"kube-ovn": "Deployment", "ovn-kubernetes": "DaemonSet"} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		from, err := filepath.Abs(kustomizeDir)
		require.NoError(t, err)
		from, err = filepath.Rel(dir, from)
		require.NoError(t, err)
		text := strings.NewReplacer("github.com/netloom/netloom/deploy/kustomize", from, "kind: Deployment", "kind: "+kind).Replace(recipe)
		text = strings.Replace(text, "/overlays/kube-ovn", "/overlays/"+overlay, 1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600))
		objects, err := Kustomize(dir)
		require.NoError(t, err, overlay)

		pod := podOf(t, Find(objects, kind, "netloom"))
		require.Empty(t, softSpots(pod), overlay)
		settings := map[string]string{}
		for _, e := range pod.Containers[0].Env {
			require.NotContains(t, settings, e.Name, overlay)
			settings[e.Name] = e.Value
		}
		require.Equal(t, "files", settings["NETLOOM_LISTEN_TLS"], overlay)
		require.Equal(t, "kubernetes", settings["NETLOOM_LISTEN_AUTH"], overlay)
		requireFile(t, pod, settings["NETLOOM_LISTEN_CERT"], "netloom-listen", "tls.crt")
		requireFile(t, pod, settings["NETLOOM_LISTEN_KEY"], "netloom-listen", "tls.key")
		endpoints, _, err := unstructured.NestedSlice(Find(objects, "ServiceMonitor", "netloom").Object, "spec", "endpoints")
		require.NoError(t, err)
		require.Equal(t, map[string]any{
			"serverName": "netloom.netloom-system.svc", "ca": map[string]any{"secret": map[string]any{"name": "netloom-listen", "key": "ca.crt"}},
		}, endpoints[0].(map[string]any)["tlsConfig"], overlay)
	}
}

// TestEveryPodFindsTheKeysOfItsDatabase checks that the Secret for ssl endpoints is where the README says, and readable.
func TestEveryPodFindsTheKeysOfItsDatabase(t *testing.T) {
	for overlay, kind := range map[string]string{"central": "Deployment", "zone": "DaemonSet"} {
		pod := podOf(t, Find(composed(t, overlay), kind, "netloom"))
		requireFile(t, pod, "/etc/netloom/tls/ca.crt", "netloom-ovn-tls", "ca.crt")
	}
}

// requireFile requires that a file of a pod is a key of a Secret, which the group of the pod can read.
func requireFile(t *testing.T, pod *corev1.PodSpec, file, secret, key string) {
	t.Helper()
	for _, m := range pod.Containers[0].VolumeMounts {
		if filepath.Join(m.MountPath, key) != file {
			continue
		}
		require.True(t, m.ReadOnly)
		for i := range pod.Volumes {
			if v := &pod.Volumes[i]; v.Name == m.Name {
				require.NotNil(t, v.Secret, file)
				require.Equal(t, secret, v.Secret.SecretName)
				require.Equal(t, int32(0o440), *v.Secret.DefaultMode)
				require.NotNil(t, pod.SecurityContext.FSGroup, "files are root's unless the pod has a group for them")
				return
			}
		}
	}
	require.Fail(t, "nothing is mounted there", file)
}

// TestNotesSayHowItIsServed checks that the commands in the notes fit how requests are served.
func TestNotesSayHowItIsServed(t *testing.T) {
	settings := map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}
	notes, err := HelmNotes(chart, "netloom", "chart", map[string]any{"config": secure(settings)})
	require.NoError(t, err)
	require.Contains(t, notes, "deployment/netloom 8082\n")
	require.Contains(t, notes, "\n  curl localhost:8082/readyz ")
	require.Contains(t, notes, "\n  curl localhost:8082/debug/problems ", "no token is needed on loopback")
	settings = map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes", "debug-listen": "127.0.0.1:9999"}
	notes, err = HelmNotes(chart, "netloom", "chart", map[string]any{"config": settings})
	require.NoError(t, err)
	require.Contains(t, notes, "deployment/netloom 9999\n")
	settings["debug-listen"], settings["listen-tls"] = "", "self"
	notes, err = HelmNotes(chart, "netloom", "chart", map[string]any{"config": settings})
	require.NoError(t, err)
	require.Contains(t, notes, "\n  curl -k https://localhost:8080/readyz ")
	require.NotContains(t, notes, "/debug/")
	notes, err = HelmNotes(chart, "netloom", "chart", map[string]any{"config": map[string]any{"tungsten": []any{"http://192.0.2.1:8082"}}})
	require.NoError(t, err)
	require.Contains(t, notes, "netloom keeps [http://192.0.2.1:8082] in sync")
}
