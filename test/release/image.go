package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"
)

// Media types of the OCI image specification 1.1, and that of an SBOM.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	typeEmpty    = "application/vnd.oci.empty.v1+json"
	typeSPDX     = "application/spdx+json"
)

// The fields of these are those of the specification.
type (
	descriptor struct {
		MediaType    string            `json:"mediaType"`
		Digest       string            `json:"digest"`
		Size         int64             `json:"size"`
		Annotations  map[string]string `json:"annotations,omitempty"`
		Platform     *ociPlatform      `json:"platform,omitempty"`
		ArtifactType string            `json:"artifactType,omitempty"`
	}
	ociPlatform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	manifest struct {
		Schema       int               `json:"schemaVersion"`
		MediaType    string            `json:"mediaType"`
		ArtifactType string            `json:"artifactType,omitempty"`
		Config       *descriptor       `json:"config,omitempty"`
		Layers       []descriptor      `json:"layers,omitempty"`
		Manifests    []descriptor      `json:"manifests,omitempty"`
		Subject      *descriptor       `json:"subject,omitempty"`
		Annotations  map[string]string `json:"annotations,omitempty"`
	}
	imageConfig struct {
		Created      string    `json:"created"`
		Architecture string    `json:"architecture"`
		OS           string    `json:"os"`
		Config       container `json:"config"`
		RootFS       rootFS    `json:"rootfs"`
		History      []history `json:"history"`
	}
	container struct {
		User       string            `json:"User"`
		Entrypoint []string          `json:"Entrypoint"`
		Cmd        []string          `json:"Cmd"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	}
	rootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	history struct {
		Created string `json:"created"`
		By      string `json:"created_by"`
	}
)

// labels are those of the image, which are also annotations of its index.
func (r *release) labels() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": "netloom", prefix + "licenses": "Apache-2.0", prefix + "source": repository,
		prefix + "version": r.number(), prefix + "revision": r.revision, prefix + "created": r.committed.Format(time.RFC3339),
	}
}

// blobs are those of a layout, by digest.
type blobs map[string][]byte

// add keeps a blob, and returns its descriptor.
func (b blobs) add(mediaType string, content []byte) descriptor {
	digest := digestOf(content)
	b[digest] = content
	return descriptor{MediaType: mediaType, Digest: digest, Size: int64(len(content))}
}

// addJSON keeps a document.
func (b blobs) addJSON(mediaType string, document any) (descriptor, error) {
	content, err := json.Marshal(document)
	if err != nil {
		return descriptor{}, err
	}
	return b.add(mediaType, content), nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// image writes an image for each Linux, what deploy/Dockerfile makes, as an OCI layout and as a tar of it. The SBOM of each refers to it.
func (r *release) image(context.Context) error {
	all := blobs{}
	index := manifest{Schema: 2, MediaType: typeIndex, Annotations: r.labels()}
	var bills []descriptor
	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		image, err := r.imageOf(all, p.arch)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, image)
		bill, err := r.attach(all, image, p.arch)
		if err != nil {
			return err
		}
		bills = append(bills, bill)
	}
	whole, err := all.addJSON(typeIndex, index)
	if err != nil {
		return err
	}
	r.digest = whole.Digest
	whole.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.number()}
	return r.layout(all, manifest{Schema: 2, MediaType: typeIndex, Manifests: append([]descriptor{whole}, bills...)})
}

// imageOf adds the image for an architecture: one layer with one file, run by a user without privileges.
func (r *release) imageOf(all blobs, arch string) (descriptor, error) {
	content, err := os.ReadFile(r.path(program("linux", arch)))
	if err != nil {
		return descriptor{}, err
	}
	layer, err := archive([]member{{"netloom", content, 0o755}}, r.committed)
	if err != nil {
		return descriptor{}, err
	}
	zipped, err := zip(layer)
	if err != nil {
		return descriptor{}, err
	}
	created := r.committed.Format(time.RFC3339)
	config, err := all.addJSON(typeConfig, imageConfig{
		Created: created, Architecture: arch, OS: "linux",
		Config:  container{User: "65532:65532", Entrypoint: []string{"/netloom"}, Cmd: []string{"run"}, WorkingDir: "/", Labels: r.labels()},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{digestOf(layer)}},
		History: []history{{created, "make release VERSION=" + r.version}},
	})
	if err != nil {
		return descriptor{}, err
	}
	image, err := all.addJSON(typeManifest, manifest{
		Schema: 2, MediaType: typeManifest, Config: &config, Layers: []descriptor{all.add(typeLayer, zipped)}, Annotations: r.labels(),
	})
	image.Platform = &ociPlatform{Architecture: arch, OS: "linux"}
	return image, err
}

// attach adds the SBOM of an image, as an artifact that refers to it.
func (r *release) attach(all blobs, image descriptor, arch string) (descriptor, error) {
	content, err := os.ReadFile(r.path(program("linux", arch) + ".spdx.json"))
	if err != nil {
		return descriptor{}, err
	}
	bill := all.add(typeSPDX, content)
	bill.Annotations = map[string]string{"org.opencontainers.image.title": program("linux", arch) + ".spdx.json"}
	none := all.add(typeEmpty, []byte("{}"))
	subject := descriptor{MediaType: image.MediaType, Digest: image.Digest, Size: image.Size}
	artifact, err := all.addJSON(typeManifest, manifest{
		Schema: 2, MediaType: typeManifest, ArtifactType: typeSPDX, Config: &none, Layers: []descriptor{bill}, Subject: &subject,
	})
	artifact.ArtifactType = typeSPDX
	return artifact, err
}

// layout writes a directory as the OCI image layout wants it, and a tar of it.
func (r *release) layout(all blobs, top manifest) error {
	index, err := json.Marshal(top)
	if err != nil {
		return err
	}
	files := []member{{"index.json", index, 0o644}, {"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644}}
	for digest, content := range all {
		files = append(files, member{"blobs/sha256/" + digest[len("sha256:"):], content, 0o644})
	}
	for _, f := range files {
		if err := r.save("image/"+f.name, f.content); err != nil {
			return err
		}
	}
	content, err := archive(files, r.committed)
	if err != nil {
		return err
	}
	return r.save("netloom-"+r.number()+"-image.tar", content)
}
