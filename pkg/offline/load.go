package offline

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/manifest"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/query"
	"github.com/netloom/netloom/pkg/status"
	"github.com/netloom/netloom/translator"
)

// Manifests selects what Load reads.
type Manifests struct {
	Path  string    // a directory of manifests, a file, or "-" for Stdin
	Stdin io.Reader // with "-" only
	// MaxFile is how long a file or the standard input may be, in bytes; 0 is manifest.DefaultMaxFile.
	MaxFile int64
	// Over are further directories and files, whose objects replace or extend those of Path; if several have the same
	// object, the last counts.
	Over []string
	// Without are objects to leave out, wherever they are declared. One that is not declared is an error.
	Without []object.Ref

	Translator translator.Options
}

// Load reads manifests once and translates them. It fails if they cannot be read at all; faults inside them are among the
// problems of the state.
func Load(opts Manifests) (query.State, error) {
	m, err := readManifests(opts)
	if err != nil {
		return query.State{}, err
	}
	state := query.State{Cluster: opts.Translator.Cluster}
	t := translator.New(opts.Translator)
	t.SetUnknown(m.unknown())
	for _, ref := range slices.SortedFunc(maps.Keys(m.force), object.Ref.Compare) {
		o, ok := m.force[ref].Get(ref)
		if !ok {
			continue
		}
		if err := t.Put(o); err != nil {
			state.Problems = append(state.Problems, object.Problem{Ref: ref, Message: err.Error(), Place: m.place(ref)})
		}
		addObject(&state.Objects, o)
	}
	state.Snapshot, state.View = t.Snapshot(), t.View()
	for _, source := range m.sources {
		state.Problems = append(state.Problems, source.Problems()...)
	}
	for _, p := range t.Problems() {
		p.Place = m.place(p.Ref)
		state.Problems = append(state.Problems, p)
	}
	findLines(state.Problems, m.content, opts.MaxFile)
	slices.SortFunc(state.Problems, object.Problem.Compare)
	return state, nil
}

// manifests are the objects of several directories and files.
type manifests struct {
	sources []*manifest.Directory
	force   map[object.Ref]*manifest.Directory // by object: the directory it is in force from
	content map[string][]byte                  // of the files that were read whole, by path
}

func readManifests(opts Manifests) (*manifests, error) {
	m := &manifests{force: map[object.Ref]*manifest.Directory{}, content: map[string][]byte{}}
	for _, path := range append([]string{opts.Path}, opts.Over...) {
		layer := Manifests{Path: path, Stdin: opts.Stdin, MaxFile: opts.MaxFile}
		content, err := layer.content()
		if err != nil {
			return nil, err
		}
		maps.Copy(m.content, content)
		source, err := readLayer(layer, content)
		if err != nil {
			return nil, err
		}
		m.sources = append(m.sources, source)
		for _, ref := range source.Refs() {
			// A namespace that only exists because objects are in it does not replace one that is declared.
			if _, declared := source.Place(ref); declared || m.force[ref] == nil {
				m.force[ref] = source
			}
		}
	}
	for _, ref := range opts.Without {
		if m.force[ref] == nil {
			return nil, fmt.Errorf("%s cannot be removed: no manifest declares it", ref)
		}
		delete(m.force, ref)
	}
	return m, nil
}

// unknown returns the areas that the files declare as unreadable.
func (m *manifests) unknown() (areas intent.Areas) {
	for _, content := range m.content {
		areas |= pipeline.UnknownAreas(manifest.UnavailableOf(content))
	}
	return areas
}

// addObject adds an object of a kind that queries may name.
func addObject(to *query.Objects, found runtime.Object) {
	r, _, ok := v1alpha1.ResourceOf(found)
	o, _ := found.(status.Object)
	if !ok || o == nil {
		to.Add(found)
		return
	}
	state, message := status.StateOf(o)
	to.Add(query.SDWANObject{
		Kind: r.Kind, Plural: r.Plural, Namespace: o.GetNamespace(), Name: o.GetName(), State: state, Message: message,
	})
}

// place returns where the object in force under ref is declared; zero if no manifest declares it.
func (m *manifests) place(ref object.Ref) object.Place {
	if source := m.force[ref]; source != nil {
		if place, ok := source.Place(ref); ok {
			return place
		}
	}
	return object.Place{}
}

// streamName is the path of the standard input.
const streamName = "stdin"

// content returns the content of a file or the standard input; nil for a directory.
func (o *Manifests) content() (map[string][]byte, error) {
	path := o.Path
	var content []byte
	switch path {
	case "":
		return nil, errors.New("expected a directory of manifests, a file, or - for the standard input")
	case "-":
		path = streamName
		var err error
		if content, err = manifest.Read(o.Stdin, o.MaxFile); err != nil {
			return nil, fmt.Errorf("read manifests: %s: %w", path, err)
		}
	default:
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			if content, err = manifest.ReadFile(path, o.MaxFile); err != nil {
				return nil, fmt.Errorf("read manifests: %s: %w", path, err)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		if info.IsDir() {
			return nil, nil
		}
	}
	return map[string][]byte{path: content}, nil
}

func readLayer(opts Manifests, content map[string][]byte) (*manifest.Directory, error) {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard) // faults are among the problems
	for path, text := range content {
		return manifest.Load(path, text, manifest.Options{MaxFile: opts.MaxFile}, quiet), nil
	}
	return manifest.LoadDirectory(opts.Path, manifest.Options{MaxFile: opts.MaxFile}, quiet)
}

// findLines finds the lines of problems in their files, as far as these can still be read.
func findLines(problems []object.Problem, content map[string][]byte, limit int64) {
	for i := range problems {
		place := &problems[i].Place
		if place.Document == 0 {
			continue
		}
		text, ok := content[place.Path]
		if !ok {
			text, _ = manifest.ReadFile(place.Path, limit) // gone meanwhile: then it has no lines
			content[place.Path] = text
		}
		place.Line = manifest.Line(text, place.Document, problems[i].Field, problems[i].Message)
	}
}
