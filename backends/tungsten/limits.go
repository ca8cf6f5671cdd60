package tungsten

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// A controller has 32,768 IDs for the tags of a type. Once it has refused one, no other tag of the type is asked for: what needs it is
// denied. The policy set of ingress notes the type, so that a restarted process knows it. Each read-back but the first tries one tag
// again, and so does a plan after one that deleted a tag of the type.

const (
	noTag         = "the controller has no tag IDs left"
	isolatedTitle = "endpoints that NetworkPolicies isolate for "
)

// limits is which tags cannot be created. The zero value is none.
type limits struct {
	full   map[string]bool // types of tags that no ID is left for
	exists map[string]*tungsten.Object
}

// refuses reports whether a tag does not exist and cannot be created.
func (l limits) refuses(names namer, tag string) bool {
	return l.full[typeOf(tag)] && l.exists[names.uuid(tungsten.KindTag, tag)] == nil
}

func typeOf(tag string) string {
	kind, _, _ := strings.Cut(tag, "=")
	return kind
}

// limitsOf returns the limits of a controller that has some objects.
func (b *Backend) limitsOf(have map[string]*tungsten.Object) limits {
	return limits{full: maps.Clone(b.full), exists: have}
}

// lacks reports whether the controller has no ID for a tag, and records that it is needed.
func (r *rendering) lacks(tag, what string) bool {
	if !r.limits.refuses(r.names, tag) {
		return false
	}
	r.lacking[tag] = r.newTag(tag, what)
	return true
}

// isolated returns the endpoints that NetworkPolicies isolate: all that policies govern, if the tag of those that are isolated cannot
// be created.
func (r *rendering) isolated(d intent.Direction) endpoint {
	tag := r.names.isolatedTag(d)
	if !r.lacks(tag, isolatedTitle+d.String()) {
		return endpoint{tags: []string{tag}}
	}
	skip := backends.Skip{Intent: string(intent.IsolatedSet(d)), Reason: noTag + ": every endpoint that policies govern is isolated"}
	if !r.skipped[skip] {
		r.skipped[skip] = true
		r.skips = append(r.skips, skip)
	}
	return endpoint{}
}

// noteLimits annotates the policy set of ingress with the types of the tags that are lacking.
func (r *rendering) noteLimits() {
	types := map[string]bool{}
	for tag := range r.lacking {
		types[typeOf(tag)] = true
	}
	if len(types) == 0 {
		return
	}
	set := r.objects[r.names.uuid(tungsten.KindApplicationPolicySet, r.names.setName(intent.Ingress))]
	notes := set.Annotations.Map()
	notes[annotationFull] = strings.Join(slices.Sorted(maps.Keys(types)), " ")
	set.Annotations = tungsten.NewAnnotations(notes)
}

// recallLimits reads what noteLimits wrote before a restart.
func (b *Backend) recallLimits(have map[string]*tungsten.Object) {
	set := have[b.names.uuid(tungsten.KindApplicationPolicySet, b.names.setName(intent.Ingress))]
	if set == nil {
		return
	}
	for _, kind := range strings.Fields(set.Annotations.Get(annotationFull)) {
		b.full[kind] = true
	}
}

// settleLimits forgets the types of which nothing is lacking. If probe is set, it adds an op that tries one tag of each other type.
func (b *Backend) settleLimits(r *rendering, c *comparison, probe bool) error {
	tried := map[string]bool{}
	for _, tag := range slices.Sorted(maps.Keys(r.lacking)) {
		if kind := typeOf(tag); !tried[kind] {
			tried[kind] = true
			if !probe {
				continue
			}
			op, err := createOf(createTag, r.lacking[tag])
			if err != nil {
				return err
			}
			op.op.Again, op.op.Native = true, write{create: r.lacking[tag], probe: true}
			c.ops = append(c.ops, op)
		}
	}
	maps.DeleteFunc(b.full, func(kind string, _ bool) bool { return !tried[kind] })
	return nil
}

// freed records that a tag was created or deleted although no ID had been left for its type: everything is planned again.
func (b *Backend) freed(tag string) {
	if kind := typeOf(tag); b.full[kind] {
		delete(b.full, kind)
		b.doubt = true
		b.wakeUp()
	}
}
