package deployment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const kustomizeDir = "../../../deploy/kustomize"

// rendering is one way to render deploy/.
type rendering struct {
	name    string
	dir     string // of the kustomization; "" for the chart
	objects []*unstructured.Unstructured
}

// TestRenderings renders deploy/ in every way once, as that takes a while, and judges what comes of it.
func TestRenderings(t *testing.T) {
	all := slices.Concat(kustomizations(t), charted(t))
	for name, judge := range map[string]func(*testing.T, []rendering){
		"pods are hardened": requireHardened, "pods are restricted": requireRestricted,
		"fields are known to Kubernetes": requireKnownFields, "the oldest kustomize renders the same": requireSameByOldest,
	} {
		t.Run(name, func(t *testing.T) { judge(t, all) })
	}
}

// kustomizations are every overlay alone and with all components, those that others are made of also with each component, and what a
// cluster grants others.
func kustomizations(t *testing.T) []rendering {
	t.Helper()
	var all []rendering
	components := names(t, kustomizeDir+"/components")
	for _, overlay := range names(t, kustomizeDir+"/overlays") {
		base := overlayBelow(t, overlay)
		components := slices.DeleteFunc(slices.Clone(components), func(c string) bool {
			switch base {
			case "zone":
				return c == "sdewan" || c == "webhook-in-daemon" // these do not run on every node
			case "gateway":
				return !strings.HasPrefix(c, "gateway-") // the others are for netloom, or a part of the overlay
			default:
				return false
			}
		})
		combinations := [][]string{nil, uppermost(t, components)}
		if base == overlay {
			for _, c := range components {
				combinations = append(combinations, []string{c})
			}
		}
		for _, combination := range combinations {
			all = append(all, rendered(t, fmt.Sprintf("overlay %s with %v", overlay, combination), compose(t, "overlays/"+overlay, combination...)))
		}
	}
	for name, dir := range map[string]string{
		"upstream": kustomizeDir + "/upstream", "peer": kustomizeDir + "/peer", "upstream with shared watches": compose(t, "upstream", "shared-watches"),
	} {
		all = append(all, rendered(t, name, dir))
	}
	return all
}

func rendered(t *testing.T, name, dir string) rendering {
	t.Helper()
	objects, err := Kustomize(dir)
	require.NoError(t, err, name)
	return rendering{name, dir, objects}
}

// overlayBelow is the overlay that one has as its resource, or itself.
func overlayBelow(t *testing.T, overlay string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kustomizeDir, "overlays", overlay, "kustomization.yaml"))
	require.NoError(t, err)
	var content struct{ Resources []string }
	require.NoError(t, yaml.Unmarshal(text, &content))
	for _, r := range content.Resources {
		if below := filepath.Base(r); slices.Contains(names(t, kustomizeDir+"/overlays"), below) {
			return below
		}
	}
	return overlay
}

// names lists the directories in one.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	require.NotEmpty(t, all)
	return all
}

// uppermost leaves out the components that others bring with them.
func uppermost(t *testing.T, components []string) []string {
	t.Helper()
	brought := map[string]bool{}
	for _, c := range components {
		text, err := os.ReadFile(filepath.Join(kustomizeDir, "components", c, "kustomization.yaml"))
		require.NoError(t, err)
		var content struct{ Components []string }
		require.NoError(t, yaml.Unmarshal(text, &content))
		for _, other := range content.Components {
			brought[filepath.Base(other)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(components), func(c string) bool { return brought[c] })
}

// composed renders an overlay with components, as an overlay of one's own would.
func composed(t *testing.T, overlay string, components ...string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Kustomize(compose(t, "overlays/"+overlay, components...))
	require.NoError(t, err, "%s with %v", overlay, components)
	return objects
}

// compose writes a kustomization of a directory of kustomizeDir with components, and returns its directory.
func compose(t *testing.T, resource string, components ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	from, err := filepath.Abs(kustomizeDir)
	require.NoError(t, err)
	from, err = filepath.Rel(dir, from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(Kustomization(from, resource, components...)), 0o600))
	return dir
}

// charted is the chart with several values, and with every combination of those that change what is installed.
func charted(t *testing.T) []rendering {
	t.Helper()
	var all []rendering
	for name, values := range map[string]map[string]any{
		"Tungsten":     {"config": map[string]any{"tungsten": []any{"http://192.0.2.1:8082"}}, "tungstenSecret": "tungsten"},
		"SD-WAN alone": {"config": map[string]any{"sdewan": true}},
		"gateway alone, without a certificate": {
			"mode": "none", "gateway": map[string]any{"enabled": true, "tlsSecret": ""}, "upstream": map[string]any{"enabled": true},
		},
		"own account":      {"config": database(), "serviceAccount": map[string]any{"create": false, "name": "mine"}},
		"no right":         {"config": database(), "rbac": map[string]any{"create": false}},
		"one pod":          {"config": database(), "replicas": 1, "leaderElection": false},
		"other clusters":   {"config": database(), "peersSecret": "peers"},
		"Secrets of some":  {"config": map[string]any{"sdewan": true}, "sdewan": map[string]any{"secretNamespaces": []any{"edge"}}},
		"zones over TCP":   {"config": map[string]any{"ovn-port-names": "nodus"}, "mode": "zone", "zone": map[string]any{"socketDirectory": "", "endpoint": "ssl:$(HOST_IP):6641"}},
		"an image by hash": {"config": database(), "image": map[string]any{"digest": "sha256:" + strings.Repeat("ab", 32)}},
	} {
		all = append(all, charting(t, name, values))
	}
	for _, mode := range []string{"central", "zone"} {
		for _, webhook := range []string{"", "own", "daemon"} {
			for _, listen := range []string{"", "self", "files"} {
				for bits := range 1 << 4 {
					if mode == "zone" && (webhook == "daemon" || bits&1 != 0) {
						continue // the chart refuses these
					}
					values := matrix(mode, webhook, listen, bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0)
					all = append(all, charting(t, fmt.Sprintf("%s, webhook %q, listen-tls %q, %04b", mode, webhook, listen, bits), values))
				}
			}
		}
	}
	return all
}

// charting renders the chart.
func charting(t *testing.T, name string, values map[string]any) rendering {
	t.Helper()
	objects, err := Helm(chart, "netloom", "chart", values)
	require.NoError(t, err, name)
	return rendering{"chart, " + name, "", objects}
}

// matrix are values with each feature switched on or off.
func matrix(mode, webhook, listen string, sdewan, feedback, monitoring, gateway bool) map[string]any {
	config := database()
	values := map[string]any{"mode": mode, "config": config}
	if webhook != "" {
		values["webhook"] = map[string]any{"enabled": true, "mode": webhook}
	}
	if listen != "" {
		config["listen-tls"], config["listen-auth"] = listen, "kubernetes"
	}
	if listen == "files" {
		config["listen-cert"], config["listen-key"] = "/etc/netloom/listen/tls.crt", "/etc/netloom/listen/tls.key"
		values["listenTLSSecret"] = "certificate"
	}
	config["sdewan"], config["policy-status"], config["services"] = sdewan, feedback, feedback
	if mode != "zone" {
		config["policy-events"] = feedback
	}
	for _, some := range []string{"serviceMonitor", "prometheusRule", "dashboard", "networkPolicy"} {
		values[some] = map[string]any{"enabled": monitoring}
	}
	values["gateway"] = map[string]any{"enabled": gateway, "frontProxySecret": "proxy"}
	return values
}

// database are settings that tell where a database is and how it names ports.
func database() map[string]any {
	return map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "kube-ovn"}
}

// secure adds the settings that ask for TLS and tokens.
func secure(settings map[string]any) map[string]any {
	settings["listen-tls"], settings["listen-auth"] = "self", "kubernetes"
	return settings
}
