package manifest

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/spelling"
)

// An exported object may have fields of another release of Kubernetes, which netloom does not know: a NetworkPolicy of Kubernetes 1.24 to
// 1.27 has a status. A field is left out if no connection can depend on it; any other one makes the object faulty, since it might narrow
// or widen what the object says.

// nearField is how many letters of a field may be wrong for it to be taken for a misspelt one.
const nearField = 2

// withoutHarmless removes from the faults of an object, which was decoded into a target, the fields that nothing depends on, and notes
// them. The path is that of the object in its document.
func (r *reading) withoutHarmless(row *kind, target any, path string, faults []mismatch) []mismatch {
	noted := map[string]bool{}
	left := slices.DeleteFunc(faults, func(m mismatch) bool {
		field := strings.TrimPrefix(strings.TrimPrefix(m.field, path), ".")
		if m.message != unknownField || !row.harmless(field, reflect.TypeOf(target).Elem()) {
			return false
		}
		noted[row.Kind+" "+indices.ReplaceAllString(field, "")] = true
		return true
	})
	for field := range noted {
		r.manifest.unknown[field]++
	}
	return left
}

var indices = regexp.MustCompile(`\[\d+\]`)

// harmless reports whether no connection can depend on a field that a type does not have: a server sets it, or it is in a part of which
// netloom reads a few fields alone. A field with nearly the name of one that the type has may stand for that.
func (k *kind) harmless(field string, of reflect.Type) bool {
	part, _, _ := strings.Cut(field, ".")
	switch part {
	case "metadata":
	case "status":
		if k.Custom {
			return false
		}
	case "spec":
		if k.Kind != object.KindPod && k.Kind != object.KindNamespace && k.Kind != object.KindNode {
			return false
		}
	default:
		return false
	}
	path := strings.Split(indices.ReplaceAllString(field, ""), ".")
	for _, name := range path[:len(path)-1] {
		inner, ok := fieldNamed(of, name)
		for ok && (inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice) {
			inner = inner.Elem()
		}
		if !ok || inner.Kind() != reflect.Struct {
			return false
		}
		of = inner
	}
	return !mayMean(of, path[len(path)-1])
}

// mayMean reports whether a type has a field with nearly this name, or one that the name abbreviates.
func mayMean(of reflect.Type, name string) bool {
	name = strings.ToLower(name)
	for f := range of.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known := strings.ToLower(tag)
		switch {
		case known == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			if mayMean(f.Type, name) {
				return true
			}
		case known == "":
		case spelling.Distance(name, known, nearField) >= 0, strings.HasPrefix(known, name):
			return true
		}
	}
	return false
}
