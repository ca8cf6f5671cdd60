package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePluginReadsTheClusterOfKubectl runs netloom by the name that kubectl looks for.
func TestThePluginReadsTheClusterOfKubectl(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	home := t.TempDir()
	plugin := filepath.Join(home, "kubectl-netloom")
	require.NoError(t, os.Symlink(self, plugin))
	require.NoError(t, os.Mkdir(filepath.Join(home, ".kube"), 0o700))
	write(t, home, ".kube/config", kubeconfigOf(objectsAPI(t, exampleDir)))
	ask := func(args ...string) (string, int) {
		p := exec.CommandContext(t.Context(), plugin, args...)
		p.Env = []string{"HOME=" + home, asProgram + "=1"}
		printed, err := p.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil {
			require.ErrorAs(t, err, &exit)
		}
		return string(printed), p.ProcessState.ExitCode()
	}
	text, code := ask("probe", "shop/web-0->shop/db-0:5432")
	require.Equal(t, exitDiffers, code, text)
	require.Contains(t, text, "deny    shop/web-0 -> shop/db-0 tcp/5432")
	text, _ = ask("--help")
	require.Contains(t, text, "kubectl netloom [command]")
	text, _ = ask("__complete", "explain", "networkpolicy/shop/d")
	require.Contains(t, text, "networkpolicy/shop/db\n")
}
