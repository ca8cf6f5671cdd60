package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// chart packages the chart, whose values select the image by its digest.
func (r *release) chart(context.Context) error {
	files, err := tree(filepath.Join(r.root, "deploy", "helm", "netloom"), "netloom")
	if err != nil {
		return err
	}
	for i := range files {
		switch f := &files[i]; f.name {
		case "netloom/Chart.yaml":
			err = replace(f, regexp.MustCompile(`(?m)^version: .*$`), "version: "+r.number()+"\nappVersion: "+r.number())
		case "netloom/values.yaml":
			if err = replace(f, regexp.MustCompile(`(?m)^  tag: latest$`), "  tag: "+r.number()); err == nil {
				err = replace(f, regexp.MustCompile(`(?m)^  digest: ""`), "  digest: "+r.digest)
			}
		}
		if err != nil {
			return err
		}
	}
	return r.writeArchive("netloom-"+r.number()+".tgz", files)
}

// floating is the image without a version, in manifests and as the transformer of an overlay names it.
var floating = regexp.MustCompile(`(?m)` + regexp.QuoteMeta(imageName) + `:latest\b|^  newTag: latest$`)

// kustomizations archives the kustomizations and the CRDs, with the image by its digest.
func (r *release) kustomizations(context.Context) error {
	var files []member
	for _, dir := range []string{"kustomize", "crds"} {
		found, err := tree(filepath.Join(r.root, "deploy", dir), "netloom-"+r.number()+"/"+dir)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	pinned := 0
	for i := range files {
		f := &files[i]
		if !strings.HasSuffix(f.name, ".yaml") {
			continue
		}
		f.content = floating.ReplaceAllFunc(f.content, func(found []byte) []byte {
			pinned++
			if bytes.HasPrefix(found, []byte(imageName)) {
				return []byte(imageName + "@" + r.digest)
			}
			return []byte("  digest: " + r.digest)
		})
	}
	if pinned == 0 {
		return fmt.Errorf("deploy/kustomize: expected %s:latest", imageName)
	}
	return r.writeArchive("netloom-"+r.number()+"-kustomize.tar.gz", files)
}

// replace replaces a line that a file has once.
func replace(f *member, line *regexp.Regexp, by string) error {
	if found := line.FindAll(f.content, -1); len(found) != 1 {
		return fmt.Errorf("%s: expected one line like %s, found %d", f.name, line, len(found))
	}
	f.content = line.ReplaceAllLiteral(f.content, []byte(by))
	return nil
}
