package readme

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// TestOverlaysFindThePortsOfTheirPlugin applies the examples with the settings of each overlay to a database whose ports have the names that
// the network plugin of the overlay gives. The overlays that others are made of have no settings, and netloom says which are missing.
func TestOverlaysFindThePortsOfTheirPlugin(t *testing.T) {
	overlays := filepath.Join(root, "deploy", "kustomize", "overlays")
	kubeOVN := func(namespace, pod string) string { return pod + "." + namespace }
	ovnKubernetes := func(namespace, pod string) string { return namespace + "_" + pod }
	ports := map[string]func(namespace, pod string) string{
		"kube-ovn": kubeOVN, "nodus": ovnKubernetes, "ovn-kubernetes": ovnKubernetes, "ovn-kubernetes-central": ovnKubernetes,
	}
	readme, err := os.ReadFile(filepath.Join(root, "deploy", "README.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(overlays, "*", "netloom.yaml"))
	require.NoError(t, err)
	bin := filepath.Join(t.TempDir(), "netloom")
	shell(t, os.Environ(), "go build -tags kustomize_disable_go_plugin_support -o "+bin+" ./cmd/netloom")
	for _, file := range files {
		overlay := filepath.Base(filepath.Dir(file))
		path, err := filepath.Abs(file)
		require.NoError(t, err)
		name, plugin := ports[overlay]
		if !plugin {
			require.Contains(t, []string{"central", "zone"}, overlay)
			require.Contains(t, shell(t, os.Environ(), "! "+bin+" run --config "+path+" --kubeconfig none 2>&1"),
				"ovn-nb (default): expected the address of the Northbound database")
			continue
		}
		require.Contains(t, string(readme), "`kustomize/overlays/"+overlay+"`")
		t.Run(overlay, func(t *testing.T) {
			server, err := simulator.NewServer(schema.NB2303())
			require.NoError(t, err)
			require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
			t.Cleanup(server.Close)
			require.NoError(t, server.AddSwitch("node-a"))
			for _, pod := range examplePods {
				namespace, pod, _ := strings.Cut(pod, "/")
				require.NoError(t, server.AddPort("node-a", name(namespace, pod), nil))
			}
			// The certificates of an overlay are for its own address.
			env := append(os.Environ(), "NETLOOM_OVN_NB="+server.Addr(), "NETLOOM_OVN_CA_CERT=", "NETLOOM_OVN_CERT=", "NETLOOM_OVN_KEY=")
			shell(t, env, fmt.Sprintf("%s apply -f examples --strict --config %s", bin, path))
			require.Contains(t, server.Dump("ACL"), "shop/web ingress[0]")
		})
	}
}
