package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
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

// TestManifest writes archives of programs that are none, and checks the manifest by the rules of krew.
func TestManifest(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	r := release{root: filepath.Join("..", ".."), version: "v1.2.3", out: out}
	r.compile = func(_ context.Context, system, arch, program string) error {
		return os.WriteFile(program, []byte("for "+system+"/"+arch), 0o600)
	}
	require.NoError(t, r.write(t.Context()))

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
		require.Equal(t, "for "+name, files[platform.Bin], "the program of this platform")
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

// TestTheScriptRunsTheCommand has a go command that prints where it is started, with what.
func TestTheScriptRunsTheCommand(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	compiler := filepath.Join(dir, "go")
	require.NoError(t, os.WriteFile(compiler, []byte("#!/bin/sh\necho \"$PWD\" \"$@\"\n"), 0o700))
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "deploy", "krew", "build"), "v1.2.3", "out")
	cmd.Dir, cmd.Env = dir, append(cmd.Environ(), "GO="+compiler)
	printed, err := cmd.CombinedOutput()
	require.NoError(t, err, string(printed))
	require.Equal(t, root+" run ./test/krew v1.2.3 "+filepath.Join(dir, "out")+"\n", string(printed))
}
