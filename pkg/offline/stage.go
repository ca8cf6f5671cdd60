package offline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/object"
)

// maxName is how long the name of an object may be.
const maxName = 253

// Stage returns staged copies of the policies among manifests, as YAML. Each has the name with a suffix, and names the policy that it stands
// for. It fails for a policy that is staged already, and for one of a kind of which there can be only one.
func Stage(documents []unstructured.Unstructured, suffix string) ([]byte, error) {
	var out []unstructured.Unstructured
	var faults []error
	for _, d := range policiesIn(documents) {
		name := d.GetName() + suffix
		switch {
		case object.IsStaged(d.GetAnnotations(), nil):
			faults = append(faults, fmt.Errorf("%s: it is staged already", refOf(&d).Path()))
		case d.GetKind() == object.KindBaselineAdminNetworkPolicy:
			faults = append(faults, fmt.Errorf("%s: there can be no second one: annotate it with %s=%s",
				refOf(&d).Path(), object.EnforcementAnnotation, object.EnforcementStaged))
		case len(name) > maxName:
			faults = append(faults, fmt.Errorf("%s: with %s, the name has more than %d characters", refOf(&d).Path(), suffix, maxName))
		}
		annotate(&d, map[string]string{object.EnforcementAnnotation: object.EnforcementStaged, object.StagesAnnotation: d.GetName()})
		d.SetName(name)
		out = append(out, d)
	}
	return written(out, faults, "no policy to stage")
}

// Promote returns the staged policies among manifests as they have to be applied to be enforced, as YAML: those that stand for another one
// under its name. It fails if two stand for the same.
func Promote(documents []unstructured.Unstructured) ([]byte, error) {
	var out []unstructured.Unstructured
	var faults []error
	seen := map[object.Ref]object.Ref{}
	for _, d := range stagedIn(documents) {
		staged := refOf(&d)
		if name := d.GetAnnotations()[object.StagesAnnotation]; name != "" {
			d.SetName(name)
		}
		if other, twice := seen[refOf(&d)]; twice {
			faults = append(faults, fmt.Errorf("%s: %s stands for %s, too", staged.Path(), other.Path(), refOf(&d).Path()))
		}
		seen[refOf(&d)] = staged
		annotate(&d, nil)
		out = append(out, d)
	}
	return written(out, faults, "no staged policy: expected one with the annotation "+object.EnforcementAnnotation+": "+object.EnforcementStaged)
}

// Discard returns the staged policies among manifests as they have to be deleted, as YAML, without their specifications. Those that are
// staged under their real names are left out with the others: to delete them would delete the policies.
func Discard(documents []unstructured.Unstructured) ([]byte, error) {
	var out []unstructured.Unstructured
	for _, d := range stagedIn(documents) {
		if name := d.GetAnnotations()[object.StagesAnnotation]; name == "" || name == d.GetName() {
			continue
		}
		bare := unstructured.Unstructured{Object: map[string]any{}}
		bare.SetAPIVersion(d.GetAPIVersion())
		bare.SetKind(d.GetKind())
		bare.SetNamespace(d.GetNamespace())
		bare.SetName(d.GetName())
		out = append(out, bare)
	}
	return written(out, nil, "no staged copy of a policy: expected one with the annotation "+object.StagesAnnotation)
}

// Documents reads the objects in files and directories as they are written, without defaults. Items of a List are objects.
func Documents(m Manifests) ([]unstructured.Unstructured, error) {
	in, err := m.input()
	if err != nil {
		return nil, err
	}
	for _, dir := range in.dirs {
		if err := in.walk(dir, m.MaxFile); err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
	}
	var out []unstructured.Unstructured
	for _, path := range slices.Sorted(maps.Keys(in.content)) {
		found, err := documentsIn(in.content[path])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// walk reads the manifests below a directory.
func (in *input) walk(dir string, limit int64) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		content, err := manifest.ReadFile(path, limit)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		in.content[path] = content
		return nil
	})
}

func documentsIn(text []byte) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		var fields map[string]any
		if err == nil {
			err = yaml.UnmarshalStrict(raw, &fields)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if items, ok := fields["items"].([]any); ok {
			for _, item := range items {
				if fields, ok := item.(map[string]any); ok {
					out = append(out, unstructured.Unstructured{Object: fields})
				}
			}
			continue
		}
		if len(fields) > 0 {
			out = append(out, unstructured.Unstructured{Object: fields})
		}
	}
}

func policiesIn(documents []unstructured.Unstructured) []unstructured.Unstructured {
	var out []unstructured.Unstructured
	for i := range documents {
		if d := &documents[i]; object.IsPolicy(d.GetKind()) && d.GetName() != "" {
			out = append(out, *d.DeepCopy())
		}
	}
	return out
}

func stagedIn(documents []unstructured.Unstructured) []unstructured.Unstructured {
	return slices.DeleteFunc(policiesIn(documents), func(d unstructured.Unstructured) bool { return !object.IsStaged(d.GetAnnotations(), nil) })
}

func refOf(d *unstructured.Unstructured) object.Ref {
	return object.Ref{Kind: d.GetKind(), Namespace: d.GetNamespace(), Name: d.GetName()}
}

// annotate replaces the annotations of staged policies, and drops what only an API server sets.
func annotate(d *unstructured.Unstructured, by map[string]string) {
	delete(d.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(d.Object, "metadata", field)
	}
	annotations := d.GetAnnotations()
	for _, key := range []string{object.EnforcementAnnotation, object.StagesAnnotation, corev1.LastAppliedConfigAnnotation} {
		delete(annotations, key)
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, by)
	if len(annotations) == 0 {
		annotations = nil
	}
	d.SetAnnotations(annotations)
}

// written formats objects as a stream of documents.
func written(all []unstructured.Unstructured, faults []error, none string) ([]byte, error) {
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New(none)
	}
	var out bytes.Buffer
	for i := range all {
		text, err := yaml.Marshal(all[i].Object)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}
