package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checksums of the files of a release so far, by name; those of the layout are in its tar.
func (r *release) checksums() ([]subject, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	var all []subject
	for _, e := range entries {
		if e.Type() != fs.FileMode(0) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		all = append(all, subject{e.Name(), map[string]string{"sha256": hex.EncodeToString(sum[:])}})
	}
	return all, nil
}

// subject is what a statement is about, as in-toto names it.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// provenance writes what was built from what, as an in-toto statement with SLSA provenance 1. It is not signed.
func (r *release) provenance(ctx context.Context) error {
	subjects, err := r.checksums()
	if err != nil {
		return err
	}
	toolchain, err := r.command(ctx, compiler(), "env", "GOVERSION")
	if err != nil {
		return err
	}
	subjects = append(subjects, subject{imageName, map[string]string{"sha256": strings.TrimPrefix(r.digest, "sha256:")}})
	statement := map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          repository + "/blob/" + r.version + "/docs/install.md#releases",
				"externalParameters": map[string]any{"version": r.version},
				"internalParameters": map[string]any{"go": toolchain},
				"resolvedDependencies": []map[string]any{
					{"uri": "git+" + repository + "@" + r.version, "digest": map[string]string{"gitCommit": r.revision}},
				},
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": repository + "/blob/" + r.version + "/Makefile"}},
		},
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", "  ")
	if err := e.Encode(statement); err != nil {
		return err
	}
	return r.save("provenance.intoto.json", out.Bytes())
}

// sums writes the checksums of all files, as sha256sum reads them.
func (r *release) sums() error {
	all, err := r.checksums()
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, s := range all {
		fmt.Fprintf(&out, "%s  %s\n", s.Digest["sha256"], s.Name)
	}
	return r.save("SHA256SUMS", []byte(out.String()))
}
