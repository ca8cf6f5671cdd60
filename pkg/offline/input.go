package offline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/manifest/kustomization"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// streamName is the path of the standard input.
const streamName = "stdin"

// input is what the paths of one layer lead to.
type input struct {
	dirs    []string
	content map[string][]byte // of files, the standard input and built kustomizations, by path
}

// title names what is read.
func (o *Manifests) title() string {
	if o.fetched() {
		return "the cluster"
	}
	return strings.Join(slices.Concat(o.Paths, o.Kustomize), ", ")
}

// fetched reports whether Stdin is what a cluster or a daemon answered.
func (o *Manifests) fetched() bool { return o.Live && slices.Equal(o.Paths, []string{"-"}) }

// input finds and reads what the paths lead to. Directories are read later.
func (o *Manifests) input() (*input, error) {
	in := &input{content: map[string][]byte{}}
	if len(o.Paths)+len(o.Kustomize) == 0 {
		return nil, errors.New("expected a directory of manifests, a file, or - for the standard input")
	}
	if err := checkPatterns(o.Ignore); err != nil {
		return nil, err
	}
	for _, path := range o.Paths {
		if path == "-" {
			content, err := manifest.Read(o.Stdin, o.MaxFile)
			if err != nil {
				return nil, fmt.Errorf("read manifests: %s: %w", streamName, err)
			}
			in.content[streamName] = content
			continue
		}
		matches, err := expand(path)
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		for _, found := range matches {
			if err := in.add(found, o.MaxFile); err != nil {
				return nil, fmt.Errorf("read manifests: %w", err)
			}
		}
	}
	for _, dir := range o.Kustomize {
		built, err := kustomization.Build(dir)
		if err != nil {
			return nil, fmt.Errorf("-k %s: %w", dir, err)
		}
		in.content[dir] = built
	}
	return in, nil
}

// add adds a directory or a file.
func (in *input) add(path string, limit int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if _, err := os.ReadDir(path); err != nil {
			return err
		}
		in.dirs = append(in.dirs, path)
		return nil
	}
	content, err := manifest.ReadFile(path, limit)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	in.content[path] = content
	return nil
}

// expand lists the paths that match a pattern. What exists is not a pattern, whatever characters it has.
func expand(path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("an empty path")
	}
	if _, err := os.Stat(path); err == nil || !strings.ContainsAny(path, "*?[") {
		return []string{path}, nil
	}
	found, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no file matches", path)
	}
	return found, nil
}

func checkPatterns(patterns []string) error {
	var faults []error
	for _, p := range patterns {
		if _, err := filepath.Match(p, ""); err != nil {
			faults = append(faults, fmt.Errorf("--ignore: %q: %w", p, err))
		}
	}
	return errors.Join(faults...)
}

// Source reads the manifests that opts selects as a source that does not change: what they declare, and nothing that stands for it. Over
// and Without have no effect.
func Source(opts Manifests, read source.Options) (*manifest.Directory, error) {
	in, err := opts.input()
	if err != nil {
		return nil, err
	}
	opts.Live = true // nothing stands for anything
	return in.load(&opts, read), nil
}

// load parses the input.
func (in *input) load(o *Manifests, read source.Options) *manifest.Directory {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard) // faults are among the problems
	opts := manifest.Options{Options: read, Workloads: !o.Live, MaxFile: o.MaxFile, Ignore: o.Ignore, Shallow: o.Shallow, Namespace: o.Namespace, Foreign: world.MayDecide}
	if !o.Live {
		opts.Repository = !o.Strict
		opts.Foreign = func(group, kind string) bool { return world.MayDecide(group, kind) || mayMake(group, kind) }
	}
	return manifest.LoadAll(in.dirs, in.content, opts, quiet)
}
