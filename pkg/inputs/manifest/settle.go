package manifest

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// settled is an object in force and the document it comes from. An object without a path is a namespace that no document
// declares.
type settled struct {
	object   source.Object
	path     string
	document int
	effect   string // of a stand-in for a version that was never good; "" for the object itself
}

// declaration is one entry with the file it is in.
type declaration struct {
	entry
	path string
}

// settle decides which object is in force for every reference, given what was in force before and what the files declare
// now, and reports objects that are declared more than once. Objects that did not change keep their identity.
func settle(before map[object.Ref]settled, files map[string]*manifest) (map[object.Ref]settled, []object.Problem) {
	declared := map[object.Ref][]declaration{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		for _, e := range files[path].entries {
			declared[e.ref] = append(declared[e.ref], declaration{e, path})
		}
	}
	now := make(map[object.Ref]settled, len(declared))
	var faults []object.Problem
	for ref, all := range declared {
		was := before[ref]
		if was.effect != "" {
			was = settled{} // a stand-in is not a previous version
		}
		c, at := choose(was, all)
		switch {
		case c.object != nil:
			now[ref] = c
		case all[at].standIn != nil:
			now[ref] = standFor(before[ref], &all[at])
		}
		for i := range all {
			if i != at {
				faults = append(faults, duplicate(&all[i], &all[at], c.object != nil))
			}
		}
	}
	emptied := map[string]bool{}
	for ref, c := range before {
		if m := files[c.path]; m != nil && m.opaque && len(declared[ref]) == 0 {
			now[ref] = c
			if len(m.faults) == 0 && !emptied[c.path] {
				emptied[c.path] = true
				faults = append(faults, object.Problem{
					Place:   object.Place{Path: c.path},
					Unread:  object.UnreadFile,
					Message: "the file no longer declares anything: what it declared stays in force until the file is removed or declares something",
				})
			}
		}
	}
	addNamespaces(before, now)
	return now, faults
}

// choose picks the declaration that counts, by index, and what it puts in force: nothing if no version of the object was
// ever good.
func choose(before settled, all []declaration) (settled, int) {
	pick := func(i int) (settled, int) {
		o := all[i].object
		if before.object != nil && source.Equal(before.object, o) {
			o = before.object
		}
		return settled{object: o, path: all[i].path, document: all[i].document}, i
	}
	current := -1
	for i, d := range all {
		if before.path != d.path {
			continue
		}
		if current < 0 {
			current = i
		}
		if d.object != nil && (all[current].object == nil || source.Equal(before.object, d.object)) {
			current = i
		}
	}
	if current >= 0 && all[current].object != nil {
		return pick(current)
	}
	if current < 0 {
		for i, d := range all {
			if d.object != nil {
				return pick(i)
			}
		}
		current = 0
	}
	if before.path == "" {
		return settled{}, current // a namespace that was not declared is not a previous version
	}
	return settled{object: before.object, path: all[current].path, document: all[current].document}, current
}

func duplicate(d, chosen *declaration, inForce bool) object.Problem {
	message := "also declared in " + object.Place{Path: chosen.path, Document: chosen.document}.String()
	if inForce {
		message += ", which is in force"
	}
	return object.Problem{Place: object.Place{Path: d.path, Document: d.document}, Ref: d.ref, Message: message}
}

// duplicateWorkloads reports objects that create pods and are declared more than once. The first one counts, see Directory.Workloads.
func duplicateWorkloads(files map[string]*manifest) []object.Problem {
	var out []object.Problem
	first := map[object.Ref]object.Place{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		for _, w := range files[path].workloads {
			place := object.Place{Path: path, Document: w.document}
			if other, seen := first[w.Ref]; seen {
				out = append(out, object.Problem{Place: place, Ref: w.Ref, Message: "also declared in " + other.String() + ", which is in force"})
			} else {
				first[w.Ref] = place
			}
		}
	}
	return out
}

// addNamespaces gives every object in force a namespace to live in.
func addNamespaces(before, now map[object.Ref]settled) {
	missing := map[object.Ref]bool{}
	for ref := range now {
		ns := object.Ref{Kind: object.KindNamespace, Name: ref.Namespace}
		if _, ok := now[ns]; !ok && ref.Namespace != "" && ref.Kind != kindSecret {
			missing[ns] = true
		}
	}
	for ref := range missing {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ref.Name}}
		completeNamespace(n)
		var o source.Object = n
		if was, ok := before[ref]; ok && source.Equal(was.object, o) {
			o = was.object
		}
		now[ref] = settled{object: o}
	}
}

// changed lists the references whose object appeared, changed or went. Namespaces that no document declared, and that went
// together with the objects in them, are listed separately.
func changed(before, now map[object.Ref]settled) (refs, implied []object.Ref) {
	for ref, c := range now {
		if before[ref].object != c.object {
			refs = append(refs, ref)
		}
	}
	for ref, c := range before {
		switch _, ok := now[ref]; {
		case ok:
		case c.path == "":
			implied = append(implied, ref)
		default:
			refs = append(refs, ref)
		}
	}
	return refs, implied
}
