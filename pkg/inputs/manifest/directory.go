package manifest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/manifest/workload"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

var (
	_ source.Source  = (*Directory)(nil)
	_ source.Secrets = (*Directory)(nil)
)

// Directory is the source that reads manifests from a directory. NewDirectory makes one.
type Directory struct {
	*source.Inbox
	dir  string
	opts Options
	log  logrus.FieldLogger

	reading sync.Mutex // held while the directory is read
	watched error      // why changes go unnoticed; nil if they are noticed
	drafts  drafts     // of the last reading
	skipped map[string]int
	parts   []string               // files that kustomizations use otherwise
	mounts  map[string]mount       // of the last reading
	place   atomic.Pointer[string] // what is being read

	mu       sync.RWMutex // guards what follows
	files    map[string]*manifest
	force    map[object.Ref]settled
	given    map[object.Ref]settled // force, with Endpoints as the slices they are delivered as
	problems []object.Problem
	foreign  map[string]int // objects of kinds that are not delivered, by kind
	synced   bool
	current  time.Time // when the last reading began that could list the directory
	fault    error     // why the one since could not
	hangs    string    // what the present reading hangs at; "" if it does not
}

// NewDirectory makes a source of the manifests below dir. Nothing is read before Run or ReadOnce.
func NewDirectory(dir string, opts Options, log logrus.FieldLogger) *Directory {
	return &Directory{
		Inbox: source.NewInbox(),
		dir:   filepath.Clean(dir),
		opts:  opts,
		log:   log.WithField("manifests", dir),
		files: map[string]*manifest{}, drafts: drafts{},
		force: map[object.Ref]settled{},
		given: map[object.Ref]settled{}, skipped: map[string]int{},
	}
}

// LoadDirectory reads the manifests below dir once. The source it returns is synced and does not change: Drain lists every
// object, Problems every fault. It fails if dir is not a readable directory.
func LoadDirectory(dir string, opts Options, log logrus.FieldLogger) (*Directory, error) {
	d := NewDirectory(dir, opts, log)
	if err := d.ReadOnce(); err != nil {
		return nil, err
	}
	return d, nil
}

// ReadOnce brings d up to date with the directory as it is now, without watching it. It fails only if the directory was
// never read and cannot be; later that is a Problem.
func (d *Directory) ReadOnce() error {
	if err := d.check(); err != nil {
		return err
	}
	d.read(func(string) {}, false)
	return nil
}

// check fails if the directory is unusable from the start.
func (d *Directory) check() error {
	if d.Synced() {
		return nil
	}
	if _, err := os.ReadDir(d.dir); err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	return nil
}

// read brings d in sync with the directory. A patient reader will come back, so files may settle first.
func (d *Directory) read(observe func(dir string), patient bool) *tree {
	d.reading.Lock()
	defer d.reading.Unlock()
	t, now := walk(d.dir, &d.opts, observe, d.at), time.Now()
	files := make(map[string]*manifest, len(t.files))
	for _, path := range t.files {
		d.at(path)
		content, err := ReadFile(path, d.opts.MaxFile)
		switch old := d.files[path]; {
		case errors.Is(err, os.ErrNotExist): // gone since it was listed
		case err != nil:
			t.faults[path] = err
		case old != nil && old.sum == sha256.Sum256(content):
			files[path] = old
			delete(d.drafts, path)
		default:
			is := parseManifest(path, content, d.opts)
			if files[path] = is; patient && d.drafts.postpone(path, old, is, now) {
				files[path] = old
				if now.Sub(d.drafts[path].since) >= draftLong {
					t.faults[path] = errDraft
				}
			}
		}
	}
	maps.DeleteFunc(d.drafts, func(path string, _ draft) bool { return files[path] == nil })
	for bad := range t.faults { // what it declared stays
		gave := false
		for path, m := range d.files {
			if within(path, bad) {
				files[path], gave = m, true
			}
		}
		if t.dangling[bad] && !gave {
			delete(t.faults, bad)
		}
	}
	lost := func(path string) bool { return remounted(d.dir, path, d.mounts, t.mounts) }
	d.update(files, t.faults, lost)
	d.mounts = t.mounts
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault = t.faults[d.dir]; d.fault == nil {
		d.current = now
	}
	return t
}

// within reports whether path is dir, or below it.
func within(path, dir string) bool {
	return path == dir || dir == "." || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// update puts the content of the files in force and notifies the reader. Objects of the files in lost, by path, are missing because a
// volume is missing.
func (d *Directory) update(files map[string]*manifest, unreadable map[string]error, lost func(path string) bool) {
	force, faults := settle(d.force, files)
	faults = append(faults, duplicateWorkloads(files)...)
	foreign := map[string]int{}
	for _, m := range files {
		faults = append(faults, m.faults...)
		for kind, n := range m.foreign {
			foreign[kind] += n
		}
	}
	for path, err := range unreadable {
		faults = append(faults, object.Problem{Place: object.Place{Path: path}, Message: err.Error(), Unread: object.UnreadFile})
	}
	explain(faults, force)
	slices.SortFunc(faults, object.Problem.Compare)
	problems := slices.Compact(faults)
	given := withoutHidden(withSlices(d.given, force))
	dirty, implied := changed(d.given, given)
	var missing []object.Ref
	dirty = slices.DeleteFunc(dirty, func(ref object.Ref) bool {
		_, there := given[ref]
		is := !there && lost(d.given[ref].path)
		if is {
			missing = append(missing, ref)
		}
		return is
	})

	d.mu.Lock()
	isNew := !d.synced || !slices.Equal(d.problems, problems)
	d.files, d.force, d.given, d.problems, d.foreign, d.synced = files, force, given, problems, foreign, true
	d.Mark(dirty...) // before anyone can see that d is synced
	d.MarkGone(source.Implied, implied...)
	d.MarkGone(source.Lost, missing...)
	d.mu.Unlock()
	if isNew {
		d.Ring()
	}
	if len(missing) > 0 {
		d.log.WithField("objects", len(missing)).Warn("objects are missing since a volume was mounted or unmounted; policies among them stay in force")
	}
	if isNew || len(dirty)+len(implied)+len(missing) > 0 {
		d.log.WithFields(logrus.Fields{
			"files": len(files), "objects": len(given), "ignored": len(foreign),
			"changed": len(dirty) + len(implied) + len(missing), "problems": len(problems),
		}).Debug("manifests read")
	}
}

// Synced reports whether the directory has been read once.
func (d *Directory) Synced() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.synced
}

// Proofs implements source.Prover: the directory is read in full at least once per sweepTime.
func (d *Directory) Proofs() []source.Proof {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := source.Proof{Resource: "manifests", Confirmed: d.current, Late: lateSweeps * sweepTime}
	switch {
	case d.hangs != "":
		out.Fault = d.hangs + ": " + hanging
	case d.fault != nil:
		out.Fault = d.fault.Error()
	}
	return []source.Proof{out}
}

// Get returns the object in force under ref.
func (d *Directory) Get(ref object.Ref) (runtime.Object, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	c, ok := d.given[ref]
	if !ok {
		return nil, false
	}
	return c.object, true
}

// Problems lists the present faults in the order of the files and documents they are in.
func (d *Directory) Problems() []object.Problem {
	d.mu.RLock()
	defer d.mu.RUnlock()
	problems := slices.Clone(d.problems)
	if d.hangs != "" {
		problems = append(problems, object.Problem{Place: object.Place{Path: d.hangs}, Message: hanging, Unread: object.UnreadFile})
		slices.SortFunc(problems, object.Problem.Compare)
	}
	return problems
}

// Refs lists every object in force, sorted.
func (d *Directory) Refs() []object.Ref {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(d.given), object.Ref.Compare)
}

// Files returns how many files are read.
func (d *Directory) Files() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.files)
}

// Foreign is an object of a kind that is not delivered.
type Foreign struct {
	Group, Kind string
	Content     json.RawMessage // as declared
}

// Foreign lists the objects of kinds that are not delivered as far as they are kept: see Options.Foreign. They are in the order of files.
func (d *Directory) Foreign() []Foreign {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []Foreign
	if len(d.foreign) == 0 {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		out = append(out, d.files[path].kept...)
	}
	return out
}

// Undelivered lists the objects that Foreign does, as a cluster would.
func (d *Directory) Undelivered() *source.Undelivered {
	out := &source.Undelivered{}
	for _, f := range d.Foreign() {
		out.Objects = append(out.Objects, f.Content)
	}
	return out
}

// Ignored counts the objects of kinds that are not delivered, by kind.
func (d *Directory) Ignored() map[string]int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return maps.Clone(d.foreign)
}

// Unknown counts the objects with a field that netloom does not know and that no connection depends on, by kind and field, such as
// "NetworkPolicy status".
func (d *Directory) Unknown() map[string]int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := map[string]int{}
	for _, m := range d.files {
		for field, n := range m.unknown {
			out[field] += n
		}
	}
	return out
}

// Skipped counts the files and directories that LoadAll left out, by the pattern of Options.Ignore that matches them.
func (d *Directory) Skipped() map[string]int { return maps.Clone(d.skipped) }

// Others lists the files that LoadAll read and that have something else than objects in them, sorted: see Options.Repository.
func (d *Directory) Others() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := slices.Clone(d.parts)
	for path, m := range d.files {
		if m.others > 0 {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Workloads lists the objects that create pods, if they are read: those of the files in the order of their paths. An object that several
// files declare is the first one.
func (d *Directory) Workloads() []*workload.Workload {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []*workload.Workload
	seen := map[object.Ref]bool{}
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		for _, w := range d.files[path].workloads {
			if !seen[w.Ref] {
				seen[w.Ref] = true
				out = append(out, w.Workload)
			}
		}
	}
	return out
}

// Bare reports whether a pod is declared without an address that it does not have yet: without a status, as in handwritten manifests,
// or as pending.
func (d *Directory) Bare(pod object.Ref) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	m := d.files[d.given[pod].path]
	return m != nil && m.bare[pod]
}

// ForTests reports whether a pod exists only while Helm tests a chart.
func (d *Directory) ForTests(pod object.Ref) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	m := d.files[d.given[pod].path]
	return m != nil && m.tests[pod]
}

// Empty reports whether nothing is declared: no object, not even a faulty one.
func (d *Directory) Empty() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, m := range d.files {
		if len(m.workloads) > 0 {
			return false
		}
	}
	return len(d.given) == 0
}

// Unavailable is always empty: in a readable directory every kind can be read.
func (d *Directory) Unavailable() []string { return nil }
