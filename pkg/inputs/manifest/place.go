package manifest

import (
	"maps"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/object"
)

// Load reads the content of one file, or of a stream called path, in place of a whole directory. The source it returns is
// synced and does not change: see LoadDirectory.
func Load(path string, content []byte, opts Options, log logrus.FieldLogger) *Directory {
	return LoadAll(nil, map[string][]byte{path: content}, opts, log)
}

// LoadAll reads directories and the content of files or streams, by path, as if all were in one directory. The source it returns is
// synced and does not change. A directory that cannot be read is a Problem.
func LoadAll(dirs []string, contents map[string][]byte, opts Options, log logrus.FieldLogger) *Directory {
	d := NewDirectory("", opts, log)
	files, faults := map[string]*manifest{}, map[string]error{}
	var parts []string
	for path, content := range contents {
		files[path] = parseManifest(path, content, opts)
	}
	for _, dir := range dirs {
		t := walk(filepath.Clean(dir), &opts, func(string) {}, func(string) {})
		maps.Copy(faults, t.faults)
		for pattern, n := range t.skipped {
			d.skipped[pattern] += n
		}
		for _, path := range t.files {
			if files[path] != nil {
				continue
			}
			content, err := ReadFile(path, opts.MaxFile)
			if err != nil {
				faults[path] = err
				continue
			}
			files[path] = parseManifest(path, content, opts)
			if opts.Repository && isKustomization(path) {
				parts = append(parts, partsOf(path, content)...)
			}
		}
		maps.DeleteFunc(faults, func(path string, _ error) bool { return t.dangling[path] })
	}
	for _, path := range parts {
		if _, given := contents[path]; files[path] != nil && !given {
			delete(files, path)
			d.parts = append(d.parts, path)
		}
	}
	d.update(files, faults, func(string) bool { return false })
	return d
}

// Place returns which document of which file declares the object in force under ref. It is false for an object that no
// document declares, such as the namespace of another one.
func (d *Directory) Place(ref object.Ref) (object.Place, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	c := d.given[ref]
	return object.Place{Path: c.path, Document: c.document}, c.path != ""
}
