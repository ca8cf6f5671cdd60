package watch

import (
	"regexp"
	"strconv"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/object"
)

// LoadManifest takes the content of one file, or of a stream that goes by the name of path, for a whole directory. The
// source it returns is synced and stays as it is: see LoadDirectory.
func LoadManifest(path string, content []byte, opts Options, log logrus.FieldLogger) *Directory {
	d := NewDirectory(path, opts, log)
	d.update(map[string]*manifest{path: parseManifest(path, content, opts)}, nil)
	return d
}

// Place says which document of which file declares the object in force under ref. It is false for an object that no
// document declares, such as the namespace of another one.
func (d *Directory) Place(ref object.Ref) (path string, document int, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	c := d.given[ref]
	return c.path, c.document, c.path != ""
}

var whereInFile = regexp.MustCompile(`^(.+?): document (\d+)(?:: (\S+) (\S+))?$`)

// Place says where a problem of a directory is: in which file, in which of its documents (0 is the whole file), and
// which object is concerned, as Kind/namespace/name ("" when it cannot be told).
func (p Problem) Place() (path string, document int, object string) {
	m := whereInFile.FindStringSubmatch(p.Where)
	if m == nil {
		return p.Where, 0, ""
	}
	document, err := strconv.Atoi(m[2])
	if err != nil {
		return p.Where, 0, ""
	}
	if m[3] != "" {
		object = m[3] + "/" + m[4]
	}
	return m[1], document, object
}
