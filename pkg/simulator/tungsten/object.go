package tungsten

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// object is one stored object. What others refer to is found by indexes, so that a write costs what it changes.
type object struct {
	kind      *kind
	uuid      string
	fqName    []string
	parent    *object
	automatic bool // made by the server together with its parent, and deleted with it

	props    map[string]any                // nil values read back as null
	lists    map[string]map[string]any     // elements of list and map properties by position
	refs     map[string]map[string]any     // attributes by kind and UUID of the target, which may not exist
	backRefs map[string]map[string]*object // by kind and UUID
	children map[string]map[string]*object // by kind and UUID

	idPerms  dict // as far as it can be set
	perms2   dict
	created  time.Time
	modified time.Time
}

func (o *object) name() string { return o.fqName[len(o.fqName)-1] }

// fqText is the fully qualified name in one string.
func (o *object) fqText() string { return strings.Join(o.fqName, ":") }

// order is where the object stands in a plain list.
func (o *object) order() string { return o.fqText() + ":" + o.uuid }

// scoped reports whether the object belongs to a project.
func (o *object) scoped() bool { return o.parent != nil && o.parent.kind.name == "project" }

// text is a simple property, "" if it is absent.
func (o *object) text(name string) string {
	s, _ := o.props[name].(string)
	return s
}

// dict is a structured property, nil if it is absent.
func (o *object) dict(name string) dict {
	d, _ := o.props[name].(dict)
	return d
}

// property is the value of a property; ok is false if it is absent.
func (o *object) property(name string) (value any, ok bool) {
	p := o.kind.props[name]
	if p == nil {
		return nil, false
	}
	if p.wrapper == "" {
		value, ok = o.props[name]
		return value, ok
	}
	elements := o.lists[name]
	if len(elements) == 0 {
		return nil, false
	}
	list := make([]any, 0, len(elements))
	for _, position := range slices.Sorted(maps.Keys(elements)) {
		list = append(list, elements[position])
	}
	return dict{{p.wrapper, list}}, true
}

// referred returns the objects of a kind that refer to o, as reads show them: not the project of an application policy set, which
// only a delete names.
func (o *object) referred(kind string) map[string]*object {
	if kind == "project" && o.kind.name == "application-policy-set" {
		return nil
	}
	return o.backRefs[kind]
}

// targets lists the UUIDs of the references to a kind in order.
func (o *object) targets(kind string) []string { return slices.Sorted(maps.Keys(o.refs[kind])) }

// sorted lists objects in the order of plain lists.
func sorted(objects []*object) []*object {
	type keyed struct {
		key string
		o   *object
	}
	all := make([]keyed, len(objects))
	for i, o := range objects {
		all[i] = keyed{o.order(), o}
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	out := make([]*object, len(all))
	for i := range all {
		out[i] = all[i].o
	}
	return out
}
