package offline

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/object"
)

// Lint reads manifests and judges their policies: see lint.Run. Findings have their file and line, and what ignores accept is marked.
func Lint(opts Manifests, options lint.Options) (lint.Report, world.State, error) {
	opts.Translator.Undivided = options.Costs.MaxFlows == 0 // which rows there are decides what flows cost
	m, err := readManifests(opts)
	if err != nil {
		return lint.Report{}, world.State{}, err
	}
	state := m.state(opts)
	cluster := &lint.Cluster{
		Snapshot: state.Snapshot, View: state.View, Pods: state.Objects.Pods, Policies: state.Objects.Policies,
		Services: state.Objects.Services, Problems: state.Problems, MadeUp: state.MadeUp,
	}
	for _, s := range state.Staged {
		one := lint.Staged{Ref: s.Policy, Stages: m.annotation(s.Policy, object.StagesAnnotation)}
		if m.force[s.Replaces] != nil {
			one.Replaces = s.Replaces
		}
		cluster.Staged = append(cluster.Staged, one)
	}
	if !opts.Live {
		cluster.Makers = m.makers(&opts)
		cluster.Passing = map[object.Key]bool{}
		for ref, source := range m.force {
			if ref.Kind == object.KindPod && source.ForTests(ref) {
				cluster.Passing[object.Key{Namespace: ref.Namespace, Name: ref.Name}] = true
			}
		}
	}
	for _, o := range m.declared(object.KindNamespace) {
		if n, ok := o.(*corev1.Namespace); ok {
			cluster.Namespaces = append(cluster.Namespaces, n)
		}
	}
	report := lint.Run(cluster, options)
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Place == (object.Place{}) {
			f.Place = m.place(f.Ref)
		}
	}
	slices.SortFunc(report.Findings, func(a, b lint.Finding) int { return a.Compare(&b) })
	in := map[string][]*lint.Finding{} // by file: those without a line yet
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Place.Document > 0 && f.Place.Line == 0 {
			in[f.Place.Path] = append(in[f.Place.Path], f)
		}
	}
	ignores, faults := m.ignores(opts.MaxFile, func(path string, lines *manifest.Lines) {
		for _, f := range in[path] {
			f.Place.Line = lines.Of(f.Place.Document, f.Field)
		}
	})
	report.Findings = append(lint.Accept(report.Findings, ignores), faults...)
	report.Findings = append(report.Findings, lint.Unused(ignores, options.Skip)...)
	if opts.fetched() {
		for i := range report.Findings {
			report.Findings[i].Place = placeInCluster(report.Findings[i].Ref, report.Findings[i].Place)
		}
	}
	slices.SortFunc(report.Findings, func(a, b lint.Finding) int { return a.Compare(&b) })
	return report, state, nil
}

// annotation is a value of an object in force; "" for none.
func (m *manifests) annotation(ref object.Ref, key string) string {
	found, _ := m.force[ref].Get(ref)
	if o, ok := found.(metav1.Object); ok {
		return o.GetAnnotations()[key]
	}
	return ""
}

// declared lists the objects in force of some kinds, by reference.
func (m *manifests) declared(kinds ...string) []metav1.Object {
	var out []metav1.Object
	for _, ref := range slices.SortedFunc(maps.Keys(m.force), object.Ref.Compare) {
		if !slices.Contains(kinds, ref.Kind) {
			continue
		}
		found, _ := m.force[ref].Get(ref)
		if o, ok := found.(metav1.Object); ok {
			out = append(out, o)
		}
	}
	return out
}

// judged lists the kinds whose annotations accept findings.
func judged() []string {
	return []string{
		object.KindNamespace, object.KindNetworkPolicy, object.KindClusterNetworkPolicy, object.KindAdminNetworkPolicy,
		object.KindBaselineAdminNetworkPolicy,
	}
}

// ignores reads the comments and annotations that accept findings. It calls located for each file that declares an object, in order.
func (m *manifests) ignores(limit int64, located func(path string, lines *manifest.Lines)) ([]lint.Ignore, []lint.Finding) {
	var out []lint.Ignore
	var faults []lint.Finding
	annotated := map[string][]object.Ref{} // by file: the objects with an annotation
	byRef := map[object.Ref]metav1.Object{}
	paths := map[string]bool{}
	for ref := range m.force {
		if place := m.place(ref); place.Path != "" {
			paths[place.Path] = true
		}
	}
	for _, kind := range judged() {
		for _, o := range m.declared(kind) {
			ref := object.Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
			if o.GetAnnotations()[lint.IgnoreAnnotation] != "" {
				byRef[ref] = o
				annotated[m.place(ref).Path] = append(annotated[m.place(ref).Path], ref)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		text, ok := m.content[path]
		if !ok {
			text, _ = manifest.ReadFile(path, limit) // deleted in the meantime: then it has no lines
		}
		lines := manifest.NewLines(text)
		located(path, lines)
		var comments []lint.Comment
		for _, c := range manifest.Comments(text, lint.IgnoreComment) {
			place := object.Place{Path: path, Document: c.Document, Line: c.Line}
			comments = append(comments, lint.Comment{Text: c.Text, Place: place, First: c.First, Last: c.Last})
		}
		found, wrong := lint.IgnoresIn(comments)
		out, faults = append(out, found...), append(faults, wrong...)
		slices.SortFunc(annotated[path], func(a, b object.Ref) int { return cmp.Or(m.place(a).Compare(m.place(b)), a.Compare(b)) })
		for _, ref := range annotated[path] {
			place := m.place(ref)
			place.Line = lines.Of(place.Document, "metadata.annotations")
			found, wrong := lint.IgnoresOf(ref, byRef[ref].GetAnnotations(), place)
			out, faults = append(out, found...), append(faults, wrong...)
		}
	}
	return out, faults
}
