package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// made is a release of programs that are none.
func made(t *testing.T, version string) *release {
	t.Helper()
	r := &release{
		root: filepath.Join("..", ".."), version: version, out: filepath.Join(t.TempDir(), "dist"),
		revision: strings.Repeat("0123", 10), committed: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
	}
	r.compile = func(_ context.Context, system, arch, program string) error {
		return os.WriteFile(program, []byte("for "+system+"/"+arch), 0o700)
	}
	r.bill = func(_ context.Context, program string) ([]byte, error) {
		return []byte(`{"name":"` + filepath.Base(program) + `"}`), nil
	}
	require.NoError(t, r.write(t.Context()))
	return r
}

// contents are the files of a release, by name.
func contents(t *testing.T, r *release) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(r.out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(r.out, path)
		all[filepath.ToSlash(name)] = string(content)
		return err
	}))
	return all
}

// TestTwoReleasesAreEqual compares every byte of two, and reads the checksums.
func TestTwoReleasesAreEqual(t *testing.T) {
	r := made(t, "v0.1.0-rc.1")
	one, other := contents(t, r), contents(t, made(t, "v0.1.0-rc.1"))
	require.Len(t, other, len(one))
	sums := strings.Split(strings.TrimSpace(one["SHA256SUMS"]), "\n")
	listed := map[string]string{}
	for _, line := range sums {
		sum, name, found := strings.Cut(line, "  ")
		require.True(t, found, line)
		listed[name] = "sha256:" + sum
	}
	for name, content := range one {
		require.Equal(t, content, other[name], name)
		if name != "SHA256SUMS" && !strings.HasPrefix(name, "image/") {
			require.Equal(t, digestOf([]byte(content)), listed[name], name)
		}
	}
	for _, name := range []string{
		"netloom-linux-amd64", "netloom-linux-arm64", "netloom-darwin-amd64", "netloom-darwin-arm64", "netloom-linux-amd64.spdx.json",
		"netloom-0.1.0-rc.1-image.tar", "netloom-0.1.0-rc.1.tgz", "netloom-0.1.0-rc.1-kustomize.tar.gz", "netloom.yaml",
		"kubectl-netloom-linux-arm64.tar.gz", "RELEASE-NOTES.md", "provenance.intoto.json",
	} {
		require.Contains(t, listed, name)
	}
	require.Contains(t, one["RELEASE-NOTES.md"], r.digest)
	require.Contains(t, filesOf(t, []byte(one["kubectl-netloom-darwin-arm64.tar.gz"]))["kubectl-netloom"], "for darwin/arm64")

	var statement struct{ Subject []subject }
	require.NoError(t, json.Unmarshal([]byte(one["provenance.intoto.json"]), &statement))
	require.Len(t, statement.Subject, len(listed)-1+1, "all but itself, and the image")
	for _, s := range statement.Subject {
		if s.Name != imageName {
			require.Equal(t, listed[s.Name], "sha256:"+s.Digest["sha256"], s.Name)
		}
	}
}

// TestTheImageIsWhatTheDockerfileMakes reads the layout as a registry would: each blob is what its descriptor says.
func TestTheImageIsWhatTheDockerfileMakes(t *testing.T) {
	r := made(t, "v1.2.3-rc.1")
	files := contents(t, r)
	blob := func(d *descriptor) []byte {
		content, found := files["image/blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		require.True(t, found, d.Digest)
		require.Equal(t, d.Digest, digestOf([]byte(content)))
		require.EqualValues(t, len(content), d.Size)
		return []byte(content)
	}
	document := func(content []byte) (m manifest) {
		require.NoError(t, json.Unmarshal(content, &m))
		require.Equal(t, 2, m.Schema)
		return m
	}
	require.JSONEq(t, `{"imageLayoutVersion":"1.0.0"}`, files["image/oci-layout"])
	top := document([]byte(files["image/index.json"])).Manifests
	require.Len(t, top, 3, "the image, and an SBOM for each platform")
	require.Equal(t, r.digest, top[0].Digest)
	require.Equal(t, "1.2.3-rc.1", top[0].Annotations["org.opencontainers.image.ref.name"])
	images := document(blob(&top[0])).Manifests
	require.Len(t, images, 2)
	for i, arch := range []string{"amd64", "arm64"} {
		require.Equal(t, &ociPlatform{arch, "linux"}, images[i].Platform)
		image := document(blob(&images[i]))
		var config imageConfig
		require.NoError(t, json.Unmarshal(blob(image.Config), &config))
		require.Equal(t, arch, config.Architecture)
		require.Equal(t, container{"65532:65532", []string{"/netloom"}, []string{"run"}, "/", r.labels()}, config.Config)
		require.Len(t, image.Layers, 1)
		layer := unzipped(t, blob(&image.Layers[0]))
		require.Equal(t, []string{digestOf(layer)}, config.RootFS.DiffIDs)
		require.Equal(t, map[string]string{"netloom": "for linux/" + arch}, members(t, layer))

		bill := document(blob(&top[i+1]))
		require.Equal(t, images[i].Digest, bill.Subject.Digest, "the SBOM refers to the image")
		require.JSONEq(t, `{"name":"netloom-linux-`+arch+`"}`, string(blob(&bill.Layers[0])))
		blob(bill.Config)
	}
	inside := members(t, []byte(files["netloom-1.2.3-rc.1-image.tar"]))
	for name, content := range inside {
		require.Equal(t, files["image/"+name], content, name)
	}
	require.Len(t, inside, 2+1+2*5+1, "the index and version of the layout; an index, for each platform an image of three blobs and an SBOM of two, and an empty one")

	dockerfile, err := os.ReadFile(filepath.Join(r.root, "deploy", "Dockerfile"))
	require.NoError(t, err)
	for _, line := range []string{"USER 65532:65532\n", `ENTRYPOINT ["/netloom"]`, `CMD ["run"]`, " -tags kustomize_disable_go_plugin_support "} {
		require.Contains(t, string(dockerfile), line)
	}
}

// TestManifestsSelectTheImageByItsDigest renders the kustomizations and reads the values of the chart.
func TestManifestsSelectTheImageByItsDigest(t *testing.T) {
	r := made(t, "v1.2.3-rc.1")
	files := contents(t, r)
	dir := t.TempDir()
	for name, content := range filesOf(t, []byte(files["netloom-1.2.3-rc.1-kustomize.tar.gz"])) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	kustomize := filepath.Join(dir, "netloom-1.2.3-rc.1", "kustomize")
	require.FileExists(t, filepath.Join(dir, "netloom-1.2.3-rc.1", "crds", "netloom.io_policystatuses.yaml"))
	overlays, err := os.ReadDir(filepath.Join(kustomize, "overlays"))
	require.NoError(t, err)
	require.Greater(t, len(overlays), 4)
	require.NoError(t, os.MkdirAll(filepath.Join(kustomize, "own"), 0o750))
	for _, overlay := range overlays {
		text := "resources: [../overlays/" + overlay.Name() + "]\ncomponents: [../components/webhook]\n"
		require.NoError(t, os.WriteFile(filepath.Join(kustomize, "own", "kustomization.yaml"), []byte(text), 0o600))
		rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(kustomize, "own"))
		require.NoError(t, err, overlay.Name())
		text2, err := rendered.AsYaml()
		require.NoError(t, err)
		images := regexp.MustCompile(`(?m)^ +image: (.*)$`).FindAllStringSubmatch(string(text2), -1)
		require.Len(t, images, 2, "%s and the webhook", overlay.Name())
		for _, image := range images {
			require.Equal(t, imageName+"@"+r.digest, image[1], overlay.Name())
		}
	}

	chart := filesOf(t, []byte(files["netloom-1.2.3-rc.1.tgz"]))
	var about struct{ Name, Version, AppVersion string }
	require.NoError(t, yaml.Unmarshal([]byte(chart["netloom/Chart.yaml"]), &about))
	require.Equal(t, "1.2.3-rc.1", about.Version)
	require.Equal(t, "1.2.3-rc.1", about.AppVersion)
	var values struct {
		Image struct{ Repository, Tag, Digest string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(chart["netloom/values.yaml"]), &values))
	require.Equal(t, imageName, values.Image.Repository)
	require.Equal(t, "1.2.3-rc.1", values.Image.Tag)
	require.Equal(t, r.digest, values.Image.Digest)
	require.Contains(t, chart["netloom/files/upstream-role.yaml"], "kind: ClusterRole", "links are followed")
}

func TestWhatCannotBeReleased(t *testing.T) {
	r := &release{root: filepath.Join("..", ".."), out: filepath.Join(t.TempDir(), "dist")}
	for _, version := range []string{"", "1.2.3", "v1.2", "v01.2.3", "v1.2.3 "} {
		r.version = version
		require.ErrorContains(t, r.write(t.Context()), "expected vMAJOR.MINOR.PATCH", version)
	}
	r.version = "v99.0.0"
	require.EqualError(t, r.write(t.Context()), "CHANGELOG.md: expected a section ## [99.0.0]")
	r.version, r.out = "v99.0.0-rc.1", "."
	require.EqualError(t, r.write(t.Context()), ".: expected a new or empty directory")
	require.ErrorContains(t, run(t.Context(), nil), "usage: ")
}

// TestNotesAreTheSectionOfTheVersion cuts a changelog.
func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte("# Changelog\n\n## [Unreleased]\n\n- c\n\n## [1.1.0] - 2026-01-02\n\n- b\n\n## [1.0.0] - 2025-01-02\n\n- a\n"), 0o600))
	for version, want := range map[string]string{"v1.0.0": "- a", "v1.1.0": "- b", "v1.2.0-rc.1": "- c"} {
		r := &release{root: dir, version: version}
		notes, err := r.notes()
		require.NoError(t, err)
		require.Equal(t, "# netloom "+r.number()+"\n\n"+want+"\n", notes)
	}
	_, err := (&release{root: dir, version: "v1.2.0"}).notes()
	require.EqualError(t, err, "CHANGELOG.md: expected a section ## [1.2.0]")
}

func unzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	all, err := io.ReadAll(r)
	require.NoError(t, err)
	return all
}

// members are the files of a tar.
func members(t *testing.T, content []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		all[head.Name] = string(text)
	}
}

// filesOf are the files of a compressed tar.
func filesOf(t *testing.T, content []byte) map[string]string {
	t.Helper()
	return members(t, unzipped(t, content))
}
