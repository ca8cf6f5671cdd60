package kustomization

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"
)

const (
	// maxVisits bounds how many kustomizations one builds on, each as often as it is referred to.
	maxVisits = 1000
	// maxFile bounds the file of a kustomization, in bytes.
	maxFile = 1 << 20
)

// file is the part of a kustomization that names what else to read.
type file struct {
	Resources             []string `json:"resources"`
	Bases                 []string `json:"bases"`
	Components            []string `json:"components"`
	CRDs                  []string `json:"crds"`
	Configurations        []string `json:"configurations"`
	Generators            []string `json:"generators"`
	Transformers          []string `json:"transformers"`
	Validators            []string `json:"validators"`
	PatchesStrategicMerge []string `json:"patchesStrategicMerge"`

	OpenAPI         map[string]string `json:"openapi"`
	Patches         []onPath          `json:"patches"`
	PatchesJSON6902 []onPath          `json:"patchesJson6902"`
	Replacements    []onPath          `json:"replacements"`
	ConfigMaps      []generator       `json:"configMapGenerator"`
	Secrets         []generator       `json:"secretGenerator"`
}

type onPath struct {
	Path string `json:"path"`
}

type generator struct {
	Files []string `json:"files"`
	Envs  []string `json:"envs"`
	Env   string   `json:"env"`
}

// checkLocal returns an error if building dir would read anything remote. The library reads what looks like an address over the network,
// and offers no way to forbid it.
func checkLocal(dir string) error {
	c := &check{}
	return c.directory(dir)
}

// check is one walk through the kustomizations that build on each other.
type check struct{ visits int }

func (c *check) directory(dir string) error {
	if c.visits++; c.visits > maxVisits {
		return fmt.Errorf("%s: the kustomization builds on more than %d others", dir, maxVisits)
	}
	if isRemote(dir) {
		return errRemote(dir, dir)
	}
	f, path, err := read(dir)
	if err != nil {
		return err
	}
	for _, name := range f.paths() {
		if isRemote(name) {
			return errRemote(path, name)
		}
	}
	for _, name := range f.plugins() {
		if err := checkPlugin(path, dir, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat(f.Resources, f.Bases, f.Components, f.Generators, f.Transformers, f.Validators) {
		below := filepath.Join(dir, name)
		if info, err := os.Stat(below); err == nil && info.IsDir() {
			if err := c.directory(below); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads the file of a kustomization, under whichever of its names.
func read(dir string) (f file, path string, err error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		path = filepath.Join(dir, name)
		text, err := limited(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = yaml.Unmarshal(text, &f)
		}
		if err != nil {
			return f, path, fmt.Errorf("%s: %w", path, err)
		}
		return f, path, nil
	}
	return f, dir, fmt.Errorf("%s: no kustomization.yaml found", dir)
}

func limited(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("expected a file of at most %d bytes", maxFile)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path) //nolint:gosec // the user names the directory to build
}

// paths are the names of everything that is read.
func (f *file) paths() []string {
	all := slices.Concat(f.Resources, f.Bases, f.Components, f.CRDs, f.Configurations)
	for _, list := range [][]onPath{f.Patches, f.PatchesJSON6902, f.Replacements} {
		for _, p := range list {
			all = append(all, p.Path)
		}
	}
	for _, text := range f.PatchesStrategicMerge {
		if !isInline(text) {
			all = append(all, text)
		}
	}
	for _, list := range [][]generator{f.ConfigMaps, f.Secrets} {
		for _, g := range list {
			all = append(all, g.Env)
			all = append(all, g.Envs...)
			for _, name := range g.Files {
				if _, path, ok := strings.Cut(name, "="); ok { // key=path
					name = path
				}
				all = append(all, name)
			}
		}
	}
	return append(all, f.OpenAPI["path"])
}

// plugins are the names or texts of configurations that may themselves name what to read.
func (f *file) plugins() []string {
	return slices.Concat(f.Generators, f.Transformers, f.Validators)
}

// checkPlugin refuses a configuration with anything that looks like an address: what it means depends on its kind.
func checkPlugin(path, dir, name string) error {
	text := []byte(name)
	if !isInline(name) {
		if isRemote(name) {
			return errRemote(path, name)
		}
		below := filepath.Join(dir, name)
		info, err := os.Stat(below)
		if err != nil || info.IsDir() {
			return nil // missing, which the library reports, or a kustomization of its own
		}
		if text, err = limited(below); err != nil {
			return fmt.Errorf("%s: %w", below, err)
		}
	}
	for line := range bytes.Lines(text) {
		for _, word := range bytes.Fields(line) {
			if isRemote(strings.Trim(string(word), `"',[]{}`)) {
				return errRemote(path, string(word))
			}
		}
	}
	return nil
}

// isInline reports whether a text is YAML in place of a path.
func isInline(text string) bool { return strings.Contains(text, "\n") || strings.Contains(text, ": ") }

// remote matches what the library reads over the network: URLs, addresses in the style of scp, and names at a well-known host. A local path
// that contains an @ counts as one, too.
var remote = regexp.MustCompile(`(?i)://|@|^(git::|gh:|(www\.)?github\.com\b)`)

func isRemote(name string) bool { return remote.MatchString(name) }

func errRemote(path, name string) error {
	return fmt.Errorf("%s: %q is not local: remote bases are not read; build it with kubectl kustomize, and read the result with -f -", path, name)
}
