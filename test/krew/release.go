package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// release is a version of the plugin.
type release struct {
	root    string // of the repository
	version string
	out     string // the directory for what is made
	compile func(ctx context.Context, os, arch, program string) error
}

// platform is the place of a checksum in the manifest.
var platform = regexp.MustCompile(`\$\{SHA256_([a-z0-9]+)_([a-z0-9]+)\}`)

// write writes an archive for each platform, and the manifest with their checksums. The same input makes the same archive.
func (r *release) write(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(r.root, "deploy", "krew", "netloom.yaml"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	manifest := strings.ReplaceAll(string(text), "${VERSION}", r.version)
	for _, found := range platform.FindAllStringSubmatch(manifest, -1) {
		archive, err := r.archive(ctx, found[1], found[2])
		if err != nil {
			return err
		}
		name := "kubectl-netloom-" + found[1] + "-" + found[2] + ".tar.gz"
		if err := os.WriteFile(filepath.Join(r.out, name), archive, 0o644); err != nil {
			return err
		}
		sum := sha256.Sum256(archive)
		manifest = strings.ReplaceAll(manifest, found[0], hex.EncodeToString(sum[:]))
	}
	return os.WriteFile(filepath.Join(r.out, "netloom.yaml"), []byte(manifest), 0o644)
}

// archive returns the program for a platform and its license.
func (r *release) archive(ctx context.Context, system, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "netloom-krew-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "kubectl-netloom")
	if err := r.compile(ctx, system, arch, program); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, file := range []struct {
		path string
		mode int64
	}{{filepath.Join(r.root, "LICENSE"), 0o644}, {program, 0o755}} {
		content, err := os.ReadFile(file.path)
		if err != nil {
			return nil, err
		}
		head := &tar.Header{Name: filepath.Base(file.path), Mode: file.mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
