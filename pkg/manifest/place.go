package manifest

import (
	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/object"
)

// Load reads the content of one file, or of a stream called path, in place of a whole directory. The source it returns is
// synced and does not change: see LoadDirectory.
func Load(path string, content []byte, opts Options, log logrus.FieldLogger) *Directory {
	d := NewDirectory(path, opts, log)
	d.update(map[string]*manifest{path: parseManifest(path, content, opts)}, nil)
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
