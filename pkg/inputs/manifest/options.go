package manifest

import (
	"github.com/netloom/netloom/pkg/inputs/source"
)

// Options selects which manifests are read. The zero value reads every kind from files of up to DefaultMaxFile.
type Options struct {
	source.Options

	// MaxFile is how long a file may be, in bytes; 0 is DefaultMaxFile. A longer one is a problem and is not read; what it
	// declared before stays in force.
	MaxFile int64
	// Ignore are patterns of files and directories that are not read: see path/filepath.Match. A pattern is compared with each
	// name on the way, and with the path from the directory that is read.
	Ignore []string
	// Shallow leaves out the directories below the one that is read, whether they are links or not.
	Shallow bool
	// Workloads enables reading objects that create pods as well: see Directory.Workloads. Otherwise they are like kinds that netloom does
	// not know. It also gives objects with a generateName a name, as a server does on creation; otherwise they are problems.
	Workloads bool
	// Repository means that the files are those of a repository, where not all are manifests: what is no object, such as values of a
	// chart, is left out, and so are the patches of kustomizations. See Directory.Others. Otherwise they are problems, since each may be
	// an object that somebody has half written.
	Repository bool
	// Namespace is that of objects without one; "" is default.
	Namespace string
	// Foreign reports whether objects of a kind that is not delivered are kept: see Directory.Foreign. nil keeps none.
	Foreign func(group, kind string) bool
}

// DefaultMaxFile is how long a manifest file may be unless set otherwise, in bytes. Parsing one takes about five times as
// much memory.
const DefaultMaxFile = 64 << 20

// wants reports whether documents of a kind are to be read.
func (o *Options) wants(kind string) bool {
	if kind == kindSecret {
		return o.Kinds == nil
	}
	return o.Wants(kind)
}
