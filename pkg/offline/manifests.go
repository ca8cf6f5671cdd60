package offline

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// manifests are the objects of several directories and files.
type manifests struct {
	sources []*manifest.Directory
	force   map[object.Ref]*manifest.Directory // by object: the directory it is in force from
	empty   []string                           // layers that declare nothing
	without []object.Ref                       // workloads that are left out
	content map[string][]byte                  // of the files that were read whole, by path
	// explainer is of the backend whose limits are among the problems.
	explainer backends.Explainer
}

func readManifests(opts Manifests) (*manifests, error) {
	explainer, err := explainerFor(&opts)
	if err != nil {
		return nil, err
	}
	m := &manifests{force: map[object.Ref]*manifest.Directory{}, content: map[string][]byte{}, explainer: explainer}
	layers := []Manifests{opts}
	for _, path := range opts.Over {
		layer := opts
		layer.Paths, layer.Kustomize = []string{path}, nil
		layers = append(layers, layer)
	}
	for i := range layers {
		in, err := layers[i].input()
		if err != nil {
			return nil, err
		}
		maps.Copy(m.content, in.content)
		layer := in.load(&opts, source.Options{})
		m.sources = append(m.sources, layer)
		if layer.Empty() {
			m.empty = append(m.empty, layers[i].title())
		}
		for _, ref := range layer.Refs() {
			// A namespace that only exists because objects are in it does not replace one that is declared.
			if _, declared := layer.Place(ref); declared || m.force[ref] == nil {
				m.force[ref] = layer
			}
		}
	}
	for _, ref := range opts.Without {
		if !m.remove(ref) {
			return nil, fmt.Errorf("%s cannot be removed: no manifest declares it", ref)
		}
	}
	return m, nil
}

// remove leaves out an object; a workload with its pods. It reports whether there was one.
func (m *manifests) remove(ref object.Ref) bool {
	if m.force[ref] != nil {
		delete(m.force, ref)
		return true
	}
	found := false
	for _, source := range m.sources {
		for _, w := range source.Workloads() {
			if w.Ref != ref {
				continue
			}
			found = true
			for other, o := range m.objects() {
				if p, ok := o.(*corev1.Pod); ok && p.Namespace == ref.Namespace && !w.Selector.Empty() && w.Selector.Matches(labels.Set(p.Labels)) {
					delete(m.force, other)
				}
			}
		}
	}
	if found {
		m.without = append(m.without, ref)
	}
	return found
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
