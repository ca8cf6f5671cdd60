package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/gateway/definition"
	"github.com/netloom/netloom/pkg/inputs/manifest"
)

const (
	pollTime  = 2 * time.Second // between two readings: mounted Secrets replace links, which not every file system reports
	lateAfter = time.Minute     // the files are not known to be current if they were not read for so long
	maxFile   = 4 << 20         // bytes
	maxFiles  = 1000
)

// Directory reads the *.yaml, *.yml and *.json files of a directory. Make it with NewDirectory.
type Directory struct {
	dir string
	set Set
	log logrus.FieldLogger

	files  map[string]*file
	served map[string]bool // the names of clusters that were put
	state  watched
}

// file is a file as it was last read.
type file struct {
	digest  [sha256.Size]byte
	entries []definition.Entry
	names   []string // of objects that the file has had since it was last readable
	fault   string   // why it cannot be read
	garbled string   // why a document in it is no object
}

// NewDirectory makes a source that reads nothing before Run or Load. It calls changed after each change of State, unless
// that is nil.
func NewDirectory(dir string, set Set, changed func(), log logrus.FieldLogger) *Directory {
	return &Directory{
		dir: dir, set: set, log: log.WithField("directory", dir), files: map[string]*file{}, served: map[string]bool{},
		state: watched{changed: changed},
	}
}

// State returns what is known about the directory.
func (d *Directory) State() State {
	s := d.state.get()
	s.Proof.Resource, s.Proof.Late = "upstreamclusters", lateAfter
	return s
}

// Run reads the directory again and again until ctx ends.
func (d *Directory) Run(ctx context.Context) error {
	ticker := time.NewTicker(pollTime)
	defer ticker.Stop()
	for {
		d.Load()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Load reads the directory once.
func (d *Directory) Load() {
	names, err := list(d.dir)
	if err != nil {
		if !slices.Contains(d.state.get().Faults, err.Error()) {
			d.log.WithError(err).Error("the directory cannot be read; what was served before is still served")
		}
		d.state.unreadable(err.Error())
		return
	}
	changed := !d.state.get().Synced
	for name := range d.files {
		if !slices.Contains(names, name) {
			delete(d.files, name)
			changed = true
		}
	}
	for _, name := range names {
		changed = d.read(name) || changed
	}
	if changed {
		d.apply(names)
	}
	var faults []string
	for _, name := range names {
		f := d.files[name]
		if why := cmp.Or(f.fault, f.garbled); why != "" {
			faults = append(faults, name+": "+why)
		}
	}
	d.state.readable(faults...)
	d.state.synced()
}

// list returns the names of the files to read, sorted.
func list(dir string) ([]string, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range all {
		ext := filepath.Ext(e.Name())
		if !strings.HasPrefix(e.Name(), ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
			out = append(out, e.Name())
		}
	}
	if len(out) > maxFiles {
		return nil, fmt.Errorf("there are %d files, the limit is %d", len(out), maxFiles)
	}
	return out, nil
}

// readFile returns the content of a file. A named pipe could not be opened before somebody writes to it.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return manifest.ReadFile(path, maxFile)
}

// read reads a file, and reports whether it has changed. The objects of a file that cannot be read stay as they were.
func (d *Directory) read(name string) (changed bool) {
	before := d.files[name]
	text, err := readFile(filepath.Join(d.dir, name))
	if err != nil {
		if before == nil {
			before = &file{}
			d.files[name] = before
		}
		if before.fault != err.Error() {
			d.log.WithField("file", name).WithError(err).Error("a file cannot be read; what was served before is still served")
		}
		before.fault = err.Error()
		return false
	}
	digest := sha256.Sum256(text)
	if before != nil && before.digest == digest {
		before.fault = ""
		return false
	}
	next := &file{digest: digest, entries: definition.Read(text)}
	readable := true
	for _, e := range next.entries {
		if e.Name != "" {
			next.names = append(next.names, e.Name)
		} else {
			readable, next.garbled = false, e.Err.Error()
		}
		if e.Err != nil {
			d.log.WithFields(logrus.Fields{"file": name, "cluster": e.Name}).WithError(e.Err).Error("an object has faults; its last version without faults is served")
		}
	}
	if !readable && before != nil { // a document could not be decoded and may be any of the previous objects
		next.names = append(next.names, before.names...)
	}
	d.files[name] = next
	return true
}

// apply has the set serve what the files contain. What is gone leaves first, so that others can take its place. Of the objects with one name,
// the first by the name of its file is served, whether it has faults or not, so that all instances that read the same files decide alike.
func (d *Directory) apply(files []string) {
	d.leave(files)
	var first []definition.Entry
	from, again := map[string]string{}, map[string][]string{}
	for _, name := range files {
		for _, e := range d.files[name].entries {
			switch {
			case e.Name == "":
			case from[e.Name] != "":
				again[e.Name] = append(again[e.Name], name)
			default:
				from[e.Name], first = name, append(first, e)
			}
		}
	}
	for _, e := range first {
		var duplicate error
		if others := again[e.Name]; len(others) > 0 {
			duplicate = errDuplicate(from[e.Name], others)
			d.log.WithField("cluster", e.Name).WithError(duplicate).Error("a cluster is defined more than once, and the first definition, in order of file names, is used")
		}
		d.serve(e, duplicate)
	}
	for name := range d.served {
		if conflict := d.set.Conflict(name); conflict != "" {
			d.log.WithField("cluster", name).Error(conflict)
		}
	}
}

// leave has the set no longer serve the clusters that no file contains.
func (d *Directory) leave(files []string) {
	present := map[string]bool{}
	for _, name := range files {
		for _, n := range d.files[name].names {
			present[n] = true
		}
	}
	for name := range d.served {
		if !present[name] {
			d.log.WithField("cluster", name).Info("cluster is no longer served")
			d.set.Delete(name)
			delete(d.served, name)
		}
	}
}

// serve has the set serve an entry, which is rejected besides if duplicate is an error.
func (d *Directory) serve(e definition.Entry, duplicate error) {
	d.served[e.Name] = true
	err := e.Err
	if err == nil {
		if err = d.set.Put(e.Object); err != nil {
			d.log.WithField("cluster", e.Name).WithError(err).Error("the cluster cannot be served")
		}
		if errors.Is(err, ErrBeyond) {
			err = nil // it waits for a place, which only another error may take from it
		}
	}
	if err != nil && duplicate != nil {
		duplicate = fmt.Errorf("%w; %v", err, duplicate) //nolint:errorlint // the newest version has faults, which is worse
	}
	if err = cmp.Or(duplicate, e.Err); err != nil {
		d.set.Reject(e.Name, err)
	}
}
