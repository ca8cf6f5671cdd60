package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	repository = "https://github.com/netloom/netloom"
	imageName  = "ghcr.io/netloom/netloom"
)

// release is a version of netloom.
type release struct {
	root      string // of the repository
	version   string // vMAJOR.MINOR.PATCH, perhaps with a suffix as in v1.0.0-rc.1
	out       string // the directory for what is made, absolute
	revision  string // the commit
	committed time.Time

	compile func(ctx context.Context, os, arch, program string) error
	bill    func(ctx context.Context, program string) ([]byte, error) // the SBOM of a program

	digest string // of the image, once it is written: "sha256:…"
}

// platforms are those that programs are built for.
var platforms = []struct{ os, arch string }{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// number is the version without its v.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// path is that of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.out, name) }

// save writes a file of the release, for everybody.
func (r *release) save(name string, content []byte) error {
	path := r.path(filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // for everybody
		return err
	}
	return os.WriteFile(path, content, 0o644) //nolint:gosec // for everybody
}

// program is the name of the program for a platform.
func program(os, arch string) string { return "netloom-" + os + "-" + arch }

// write writes everything. The directory has to be new or empty, so that it holds one release.
func (r *release) write(ctx context.Context) error {
	if !versions.MatchString(r.version) {
		return fmt.Errorf("version %q: expected vMAJOR.MINOR.PATCH, perhaps with a suffix as in v1.0.0-rc.1", r.version)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil { //nolint:gosec // for everybody
		return err
	}
	found, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%s: expected a new or empty directory", r.out)
	}
	notes, err := r.notes() // first, because it is what may be missing
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.programs, r.image, r.chart, r.kustomizations, r.plugin} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := r.save("RELEASE-NOTES.md", []byte(notes+r.footer())); err != nil {
		return err
	}
	if err := r.provenance(ctx); err != nil {
		return err
	}
	return r.sums()
}

// programs compiles netloom for every platform, and writes the SBOM of each program.
func (r *release) programs(ctx context.Context) error {
	for _, p := range platforms {
		name := program(p.os, p.arch)
		path := r.path(name)
		if err := r.compile(ctx, p.os, p.arch, path); err != nil {
			return err
		}
		bill, err := r.bill(ctx, path)
		if err != nil {
			return err
		}
		if err := r.save(name+".spdx.json", bill); err != nil {
			return err
		}
	}
	return nil
}

// plugin writes the archives of the kubectl plugin and its manifest for krew.
func (r *release) plugin(ctx context.Context) error {
	_, err := r.command(ctx, compiler(), "run", "./test/krew", r.version, r.out, r.out)
	return err
}
