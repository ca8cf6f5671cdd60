package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// krewPlugin is the schema of a manifest for krew 0.4.4, apiVersion krew.googlecontainertools.github.com/v1alpha2.
type krewPlugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Version          string `json:"version"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Homepage         string `json:"homepage"`
		Platforms        []struct {
			URI      string                `json:"uri"`
			SHA256   string                `json:"sha256"`
			Selector *metav1.LabelSelector `json:"selector"`
			Files    []struct {
				From string `json:"from"`
				To   string `json:"to"`
			} `json:"files"`
			Bin string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// TestKrewManifest builds the plugin with a compiler that compiles nothing, and checks the manifest by the rules of krew.
func TestKrewManifest(t *testing.T) {
	bin, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	compiler := filepath.Join(bin, "go")
	require.NoError(t, os.WriteFile(compiler, []byte(`#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo "#!/bin/sh
echo $GOOS/$GOARCH" > "$2"
chmod +x "$2"
`), 0o700))
	build := exec.CommandContext(t.Context(), filepath.Join("..", "..", "deploy", "krew", "build"), "v1.2.3", out)
	build.Env = append(os.Environ(), "GO="+compiler)
	printed, err := build.CombinedOutput()
	require.NoError(t, err, string(printed))

	text, err := os.ReadFile(filepath.Join(out, "netloom.yaml"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "${")
	var p krewPlugin
	require.NoError(t, yaml.UnmarshalStrict(text, &p), "no unknown field")
	require.Equal(t, "krew.googlecontainertools.github.com/v1alpha2", p.APIVersion)
	require.Equal(t, "Plugin", p.Kind)
	require.Equal(t, "netloom", p.Name)
	require.Equal(t, "v1.2.3", p.Spec.Version)
	require.NotEmpty(t, p.Spec.ShortDescription)
	require.NotContains(t, p.Spec.ShortDescription, "\n")
	require.Less(t, len(p.Spec.ShortDescription), 51, "the index accepts 50 characters")
	require.NotEmpty(t, p.Spec.Homepage)
	require.Len(t, p.Spec.Platforms, 4)
	seen := map[string]bool{}
	for _, platform := range p.Spec.Platforms {
		require.Empty(t, platform.Files)
		require.Empty(t, platform.Selector.MatchExpressions)
		labels := platform.Selector.MatchLabels
		require.Len(t, labels, 2, "krew knows os and arch")
		name := labels["os"] + "/" + labels["arch"]
		require.Regexp(t, `^(linux|darwin)/(amd64|arm64)$`, name)
		require.False(t, seen[name], "one archive for a platform")
		seen[name] = true
		require.Regexp(t, `^https://github.com/netloom/netloom/releases/download/v1\.2\.3/`, platform.URI)
		archive := filepath.Join(out, path.Base(platform.URI))
		require.Equal(t, platform.SHA256, checksum(t, archive))
		files := filesOf(t, archive)
		require.Contains(t, files[platform.Bin], name, "the program of this platform")
		require.Contains(t, files["LICENSE"], "Apache License")
	}
}

func checksum(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// filesOf reads the files of an archive.
func filesOf(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	zipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	out := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		out[head.Name] = string(content)
	}
}

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
