package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxVisited bounds how many entries one walk looks at. Links that lead to the same directory on several paths multiply them.
const maxVisited = 1 << 18

// maxLinks bounds how many symbolic links one path may lead through, as the kernel does.
const maxLinks = 40

// tree is what one walk through a directory found.
type tree struct {
	files   []string          // paths of manifests, in the order of the walk
	dirs    map[string]bool   // real paths of every directory whose entries matter
	real    map[string]bool   // real paths of the manifests
	mounts  map[string]mount  // what each directory is on, by path
	faults  map[string]error  // what could not be read, by path
	observe func(dir string)  // called with each directory before it is listed, so that no change is missed
	at      func(path string) // called with each path before the file system is asked about it

	root    string
	ignore  []string       // patterns: see Options
	shallow bool           // see Options
	skipped map[string]int // entries that a pattern matches, by the first one that does
	visited int            // entries so far

	// dangling are the faults that are broken links and may never have been about a manifest.
	dangling map[string]bool
}

// walk finds the manifests below root, through symbolic links, in a stable order. See tree for the functions.
func walk(root string, opts *Options, observe, at func(path string)) *tree {
	t := &tree{
		at:   at,
		dirs: map[string]bool{}, real: map[string]bool{}, mounts: map[string]mount{}, faults: map[string]error{}, dangling: map[string]bool{},
		observe: observe, root: root, ignore: opts.Ignore, shallow: opts.Shallow, skipped: map[string]int{},
	}
	t.directory(root, nil)
	return t
}

// watch marks a real directory to be watched for changes.
func (t *tree) watch(dir string) {
	if !t.dirs[dir] {
		t.dirs[dir] = true
		t.observe(dir)
	}
}

// directory lists path; above are the real paths of its parent directories, which a link must not lead back to.
func (t *tree) directory(path string, above []string) {
	t.at(path)
	place, err := t.resolve(path)
	if err != nil {
		t.unreadable(path, err, above)
		return
	}
	if slices.Contains(above, place) {
		return
	}
	t.watch(place)
	entries, on, err := readDir(place)
	if err != nil {
		t.unreadable(path, err, above)
		return
	}
	t.mounts[path] = on
	if isChart(entries) {
		t.faults[path] = errChart
		return
	}
	above = append(slices.Clip(above), place)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || t.skip(filepath.Join(path, e.Name())) {
			continue
		}
		if t.visited++; t.visited > maxVisited {
			t.faults[t.root] = fmt.Errorf("the directory has more than %d entries, including those behind links: use a smaller one", maxVisited)
			return
		}
		t.entry(filepath.Join(path, e.Name()), e, above)
	}
}

// errChart is the fault of a directory whose files are templates.
var errChart = errors.New("a Helm chart cannot be read directly: render it, for example with helm template, and read the result")

// isChart reports whether a directory is a Helm chart.
func isChart(entries []fs.DirEntry) bool {
	chart, templates := false, false
	for _, e := range entries {
		chart = chart || e.Name() == "Chart.yaml"
		templates = templates || e.Name() == "templates"
	}
	return chart && templates
}

// skip reports whether a pattern matches the name of an entry, or its path below the root, and counts those.
func (t *tree) skip(path string) bool {
	below, err := filepath.Rel(t.root, path)
	if err != nil {
		below = path
	}
	at := slices.IndexFunc(t.ignore, func(pattern string) bool {
		name, _ := filepath.Match(pattern, filepath.Base(path)) // patterns are valid: see ValidPattern
		whole, _ := filepath.Match(filepath.Clean(pattern), below)
		return name || whole
	})
	if at < 0 {
		return false
	}
	t.skipped[t.ignore[at]]++
	return true
}

// unreadable records that a directory cannot be read, unless it has just gone since its parent was listed.
func (t *tree) unreadable(path string, err error, above []string) {
	if len(above) == 0 || !errors.Is(err, fs.ErrNotExist) {
		t.faults[path] = err
	}
}

func (t *tree) entry(path string, e fs.DirEntry, above []string) {
	mode := e.Type()
	place := filepath.Join(above[len(above)-1], e.Name())
	if mode&fs.ModeSymlink != 0 {
		target, err := t.resolve(path)
		if err == nil {
			var info fs.FileInfo
			if info, err = os.Stat(target); err == nil {
				mode, place = info.Mode().Type(), target
			}
		}
		if err != nil {
			t.faults[path] = err
			t.dangling[path] = !isManifest(path)
			return
		}
		if mode.IsRegular() && isManifest(path) {
			t.watch(filepath.Dir(target))
		}
	}
	switch {
	case mode.IsDir() && t.shallow:
	case mode.IsDir():
		t.directory(path, above)
	case !isManifest(path):
	case mode.IsRegular():
		t.files = append(t.files, path)
		t.real[place] = true
	default:
		t.faults[path] = errors.New("not a regular file")
	}
}

// resolve follows path to its file and has every directory with a link on the way watched: when one of them is replaced, as
// in mounted ConfigMaps, the path leads to another file.
func (t *tree) resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	place, rest := string(filepath.Separator), strings.Split(path, string(filepath.Separator))
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			place = filepath.Dir(place)
			continue
		}
		next := filepath.Join(place, name)
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			place = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: path, Err: errors.New("too many links")}
		}
		t.watch(place)
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			place = string(filepath.Separator)
		}
		rest = append(strings.Split(target, string(filepath.Separator)), rest...)
	}
	return place, nil
}

// isManifest reports whether a file's name is that of a manifest. Editors' own files (.a.yaml.swp, a.yaml~, #a.yaml#, 4913)
// are not.
func isManifest(path string) bool {
	name := filepath.Base(path)
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".")
	default:
		return false
	}
}
