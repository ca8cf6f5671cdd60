package manifest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/manifest/workload"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// manifest is the content of one version of one file.
type manifest struct {
	path      string
	sum       [sha256.Size]byte
	entries   []entry
	faults    []object.Problem
	opaque    bool              // the file declares nothing, or part of it does not even identify its object
	size      int               // of the content, in bytes
	ended     bool              // the content ends with a line break
	tail      [sha256.Size]byte // of the last document
	foreign   map[string]int    // objects of kinds that sources do not deliver, by kind
	kept      []Foreign         // those of them that are kept
	unknown   map[string]int    // objects with a field that netloom does not know and nothing depends on, by kind and field
	workloads []declaredWorkload
	bare      map[object.Ref]bool // pods without an address that do not run yet
	tests     map[object.Ref]bool // pods that exist during tests of a chart only
	own       bool                // it has documents of netloom itself, such as expectations
	others    int                 // documents that are no objects and were left out: see Options.Repository
	generated map[string]int      // objects without a name, by what their names are made of
}

// declaredWorkload is an object that creates pods, and the document that declares it.
type declaredWorkload struct {
	*workload.Workload

	document int
}

// entry is one object that a file declares.
type entry struct {
	ref      object.Ref
	document int
	object   source.Object // completed and trimmed; nil if the declaration is faulty
	standIn  *standIn      // for a faulty policy
}

// ownGroup is the API group of netloom's own files, such as expectations, and of what it reports.
const ownGroup = "netloom.io"

// maxNesting bounds lists within lists.
const maxNesting = 8

// parseManifest reads a file's content, of the kinds that opts select.
func parseManifest(path string, content []byte, opts Options) *manifest {
	m := &manifest{
		path: path, sum: sha256.Sum256(content), size: len(content), ended: bytes.HasSuffix(content, []byte("\n")), tail: sha256.Sum256(tail(content)),
		foreign: map[string]int{}, unknown: map[string]int{}, bare: map[object.Ref]bool{}, generated: map[string]int{},
		tests: map[object.Ref]bool{},
	}
	text, err := decodeText(content)
	if err != nil {
		r := reading{manifest: m, opts: opts}
		r.lost("", err.Error())
		return m
	}
	for _, d := range splitDocuments(text) {
		raw, err := d.value()
		r := reading{manifest: m, opts: opts, document: d.number}
		switch {
		case opts.Repository && raw == nil && err != nil && isSettings(path, d.data),
			opts.Repository && raw != nil && !isKustomization(path) && !resembles(raw):
			m.others++
		case err != nil && raw == nil:
			r.lost("", plain(err))
		case err != nil:
			r.reject(plain(err))
			r.object(raw, "", metav1.TypeMeta{}, 0)
		case raw != nil:
			r.object(raw, "", metav1.TypeMeta{}, 0)
		}
	}
	if len(m.entries) == 0 && len(m.foreign)+len(m.workloads) == 0 && !m.own && len(m.faults) == 0 {
		m.opaque = true // editors and shells empty a file before they write it
	}
	slices.SortFunc(m.faults, object.Problem.Compare)
	return m
}

// quoted matches where YAML's parser quotes a value: one that begins with an asterisk, and one that its tag does not fit.
var quoted = regexp.MustCompile("(unknown anchor) '.*'( referenced)|(cannot decode !!\\w+) `.*`")

// plain returns the text of a parser's error on one line, without the parser's name, and without what may be a secret.
func plain(err error) string {
	s := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	s = strings.TrimPrefix(s, "yaml: ")
	s = strings.TrimPrefix(s, "unmarshal errors:")
	return quoted.ReplaceAllString(strings.Join(strings.Fields(s), " "), "$1$2$3")
}

// reading is the decoding of one document.
type reading struct {
	manifest *manifest
	opts     Options
	document int
	rejected string // why no object of the document is accepted, even if it is valid in itself
}

func (r *reading) place() object.Place {
	return object.Place{Path: r.manifest.path, Document: r.document}
}

func (r *reading) fault(ref object.Ref, field, message string) {
	r.manifest.faults = append(r.manifest.faults, object.Problem{Place: r.place(), Ref: ref, Field: field, Message: message})
}

// lost reports a fault in an object that cannot be identified.
func (r *reading) lost(field, message string) {
	r.manifest.faults = append(r.manifest.faults,
		object.Problem{Place: r.place(), Field: field, Message: message, Unread: object.UnreadFile})
	r.manifest.opaque = true
}

// reject makes every object of the document faulty.
func (r *reading) reject(message string) { r.rejected = message }

// head is what every object starts with.
type head struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        json.RawMessage `json:"metadata"`
}

// object reads one object, at the given path of the document; a type it does not give is taken from usual.
func (r *reading) object(raw json.RawMessage, path string, usual metav1.TypeMeta, depth int) {
	var h head
	if bad := loose(raw, &h, path); len(bad) > 0 {
		for _, b := range bad {
			r.lost(b.field, b.message)
		}
		return
	}
	is := h.TypeMeta
	if is == (metav1.TypeMeta{}) {
		is = usual
	}
	if !r.typed(is, path) {
		return
	}
	version, err := schema.ParseGroupVersion(is.APIVersion)
	if err != nil {
		r.lost(join(path, "apiVersion"), fmt.Sprintf("Invalid value: %q: %v", is.APIVersion, err))
		return
	}
	if version == oldGroupVersion {
		version, raw = v1alpha1.GroupVersion, toNewerGroup(is.Kind, raw)
	}
	if row, ok := kindOf(is.Kind); ok && row.Version == version && r.opts.wants(row.Kind) {
		r.resource(row, raw, h.Metadata, path)
		return
	}
	if r.opts.Workloads && workload.Is(version, is.Kind) {
		if name := r.generate(is.Kind, h.Metadata); name != "" {
			raw = withName(raw, name)
		}
		r.workload(is.Kind, raw, path)
		return
	}
	if item, ok := r.listed(version, is.APIVersion, is.Kind); ok {
		r.list(raw, path, item, depth)
		return
	}
	if row := r.meant(version, is.Kind); row != nil {
		r.lost(join(path, "apiVersion"), fmt.Sprintf("no matches for kind %q in version %q; expected %s", is.Kind, is.APIVersion, row.Version))
		return
	}
	if r.isUnrecognized(version, is.Kind) {
		r.lost(join(path, "kind"), fmt.Sprintf("no matches for kind %q in version %q", is.Kind, is.APIVersion))
		return
	}
	if version.Group != ownGroup {
		r.manifest.foreign[is.Kind]++
		if r.opts.Foreign != nil && r.opts.Foreign(version.Group, is.Kind) {
			r.manifest.kept = append(r.manifest.kept, Foreign{version.Group, is.Kind, raw})
		}
	} else {
		r.manifest.own = true
	}
}

// workload reads an object that creates pods.
func (r *reading) workload(kind string, raw json.RawMessage, path string) {
	w, err := workload.Parse(kind, cmp.Or(r.opts.Namespace, metav1.NamespaceDefault), raw)
	if err == nil && r.rejected != "" {
		err = errors.New(r.rejected)
	}
	if err != nil {
		r.lost(path, kind+": "+err.Error())
		return
	}
	r.manifest.workloads = append(r.manifest.workloads, declaredWorkload{w, r.document})
}

// list reads every item of a list.
func (r *reading) list(raw json.RawMessage, path string, item metav1.TypeMeta, depth int) {
	type list struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Unavailable     []string          `json:"unavailable"` // see UnavailableOf
		Clusters        json.RawMessage   `json:"clusters"`    // see ClustersOf
		Unlisted        json.RawMessage   `json:"unlisted"`    // see UnlistedOf
		Items           []json.RawMessage `json:"items"`
	}
	if depth >= maxNesting {
		r.lost(path, "lists are nested too deeply")
		return
	}
	var l list
	faults := decode(raw, &l, path)
	for _, f := range faults {
		r.lost(f.field, f.message)
	}
	for i, raw := range l.Items {
		r.object(raw, join(path, fmt.Sprintf("items[%d]", i)), item, depth+1)
	}
}

// hookAnnotation lists when Helm creates an object that is not part of a release: with test, or test-success in older charts, during tests.
const hookAnnotation = "helm.sh/hook"

// resource reads an object of a kind that is delivered.
func (r *reading) resource(row *kind, raw, metadata json.RawMessage, path string) {
	ref, faults := r.identify(row, metadata, join(path, "metadata"))
	if len(faults) > 0 {
		for _, f := range faults {
			r.lost(f.field, f.message)
		}
		return
	}
	if r.rejected != "" {
		r.fault(ref, path, r.rejected)
		r.faulty(row, ref, raw)
		return
	}
	o, bare := row.New(), false
	faults = r.withoutHarmless(row, o, path, decode(raw, o, path))
	for i := range faults {
		faults[i] = redact(row.Kind, faults[i])
	}
	if len(faults) == 0 {
		o.SetName(ref.Name)
		if row.Namespaced && o.GetNamespace() == "" {
			o.SetNamespace(ref.Namespace)
		}
		p, ok := o.(*corev1.Pod)
		bare = ok && (p.Status.Phase == "" || p.Status.Phase == corev1.PodPending) && p.DeletionTimestamp == nil &&
			p.Status.PodIP == "" && len(p.Status.PodIPs) == 0
		row.complete(o)
		wrong := row.validate(o)
		if row.schema != nil {
			wrong = append(wrong, row.schema(raw)...)
		}
		for _, err := range wrong {
			m := redactError(row.Kind, err)
			faults = append(faults, mismatch{join(path, m.field), m.message})
		}
	}
	if len(faults) > 0 {
		for _, f := range faults {
			r.fault(ref, f.field, f.message)
		}
		r.faulty(row, ref, raw)
		return
	}
	if row.Kind == object.KindPod && strings.Contains(o.GetAnnotations()[hookAnnotation], "test") {
		r.manifest.tests[ref] = true
	}
	row.Trim(o)
	if bare {
		r.manifest.bare[ref] = true
	}
	r.declare(ref, o)
}

func (r *reading) declare(ref object.Ref, o source.Object) {
	r.manifest.entries = append(r.manifest.entries, entry{ref: ref, document: r.document, object: o})
}

// faulty declares an object that cannot be accepted.
func (r *reading) faulty(row *kind, ref object.Ref, raw json.RawMessage) {
	r.manifest.entries = append(r.manifest.entries,
		entry{ref: ref, document: r.document, standIn: newStandIn(row, ref, raw, r.rejected)})
}

// identify finds out which object is declared, whatever else is wrong with it. A name that no object can have does not
// identify one.
func (r *reading) identify(row *kind, metadata json.RawMessage, path string) (object.Ref, []mismatch) {
	var named struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	}
	generated := r.generate(row.Kind, metadata)
	if len(metadata) > 0 {
		if bad := loose(metadata, &named, path); len(bad) > 0 {
			return object.Ref{}, bad
		}
	}
	ref := object.Ref{Kind: row.Kind, Namespace: named.Namespace, Name: cmp.Or(named.Name, generated)}
	if row.Namespaced && ref.Namespace == "" {
		ref.Namespace = cmp.Or(r.opts.Namespace, metav1.NamespaceDefault)
	}
	o := row.New()
	o.SetName(ref.Name)
	o.SetNamespace(ref.Namespace)
	var bad []mismatch
	for _, err := range row.validate(o) {
		if field, ok := strings.CutPrefix(err.Field, "metadata."); ok {
			bad = append(bad, mismatch{join(path, field), err.ErrorBody()})
		}
	}
	return ref, bad
}

// loose reads from raw what fits target and leaves the rest.
func loose(raw json.RawMessage, target any, path string) []mismatch {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, target)
	if err == nil {
		return nil
	}
	if bad := mismatches(raw, reflect.TypeOf(target).Elem(), path); len(bad) > 0 {
		return bad
	}
	return []mismatch{{path, err.Error()}}
}

// decode reads raw into target as strictly as the strictest mode of the API server.
func decode(raw json.RawMessage, target any, path string) []mismatch {
	strict, err := kjson.UnmarshalStrict(raw, target)
	if err != nil {
		if bad := mismatches(raw, reflect.TypeOf(target).Elem(), path); len(bad) > 0 {
			return bad
		}
		return []mismatch{{path, err.Error()}}
	}
	bad := make([]mismatch, 0, len(strict))
	for _, err := range strict {
		var at kjson.FieldError
		if !errors.As(err, &at) {
			bad = append(bad, mismatch{path, err.Error()})
			continue
		}
		what, _, _ := strings.Cut(err.Error(), ` "`)
		bad = append(bad, mismatch{join(path, at.FieldPath()), what})
	}
	return bad
}
