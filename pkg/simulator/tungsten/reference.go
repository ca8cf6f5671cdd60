package tungsten

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// scopedRefs are the references of the security objects whose scopes are checked, by kind.
func scopedRef(k *kind) string {
	return map[string]string{
		"firewall-rule": "service-group", "firewall-policy": "firewall-rule", "application-policy-set": "firewall-policy",
	}[k.name]
}

// checkRefs validates the attributes of the references in a body.
func (db *database) checkRefs(k *kind, body dict, operation string) *refusal {
	for _, target := range slices.Sorted(maps.Keys(k.refs)) {
		sent, _ := body.get(refField(target))
		list, _ := sent.([]any)
		for _, e := range list {
			ref, ok := e.(dict)
			if !ok {
				return crash("AttributeError")
			}
			if bad := checkAttr(k.refs[target], target, ref, operation); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// checkAttr validates the attribute of one reference.
func checkAttr(p *property, target string, ref dict, operation string) *refusal {
	if p == nil || p == free {
		return nil
	}
	refused := func(why any) *refusal {
		return refuse(http.StatusBadRequest, "Bad reference in %s: Error validating reference %s value %s %v", operation, refField(target),
			repr(ref), why)
	}
	if _, ok := ref.get("to"); !ok {
		return crash("KeyError: 'to'")
	}
	attr, ok := ref.get("attr")
	if !ok {
		return refused("'attr'")
	}
	if attr == nil {
		return nil
	}
	if _, err := p.checkOne("attr", attr); err != nil {
		return refused(err)
	}
	return nil
}

// resolveRefs returns the references in a body by kind and UUID. A kind without references in the body is absent.
func (db *database) resolveRefs(o *object, body dict, operation string) (map[string]map[string]any, *refusal) {
	out := make(map[string]map[string]any)
	for _, kind := range slices.Sorted(maps.Keys(o.kind.refs)) {
		sent, ok := body.get(refField(kind))
		if !ok || sent == nil && operation == "create" {
			continue
		}
		list, ok := sent.([]any)
		if !ok {
			return nil, crash("TypeError: 'NoneType' object is not iterable")
		}
		out[kind] = make(map[string]any, len(list))
		for _, e := range list {
			uuid, attr, bad := db.resolveRef(o, kind, e.(dict), operation, body)
			if bad != nil {
				return nil, bad
			}
			out[kind][uuid] = attr
		}
	}
	return out, nil
}

// resolveRef finds the target of one reference. In an update a given UUID is stored as it is.
func (db *database) resolveRef(o *object, kind string, ref dict, operation string, body dict) (uuid string, attr any, bad *refusal) {
	to, ok := ref.get("to")
	if !ok {
		return "", nil, crash("KeyError: 'to'")
	}
	fqName, _ := texts(to)
	attr, _ = ref.get("attr")
	target := db.find(kind, fqName)
	if target != nil && kind == scopedRef(o.kind) && target.scoped() && !o.scoped() {
		if _, ok := ref.get("uuid"); !ok {
			return "", nil, crash("KeyError: 'uuid'")
		}
		return "", nil, outOfScope(o, target)
	}
	if given := ref.text("uuid"); given != "" && operation == "update" {
		return given, attr, nil
	}
	switch {
	case target != nil:
		return target.uuid, attr, nil
	case kind == scopedRef(o.kind):
		return "", nil, refuse(http.StatusNotFound, "Unknown id: %s %s", db.fieldOf(kind), joinName(fqName))
	default:
		return "", nil, refuse(http.StatusBadRequest, "Unknown reference in resource %s %s %s.", operation, o.kind.field, repr(body))
	}
}

func outOfScope(o, target *object) *refusal {
	return refuse(http.StatusBadRequest, "Global %s %s (%s) cannot reference a scoped %s %s (%s)",
		o.kind.title, o.fqText(), o.uuid, target.kind.title, target.fqText(), target.uuid)
}

// checkTags checks which tags an object may have together.
func (db *database) checkTags(o *object, refs map[string]any) *refusal {
	seen := make(map[string]bool)
	for _, uuid := range slices.Sorted(maps.Keys(refs)) {
		tag := db.byUUID[uuid]
		if tag == nil || tag.kind.name != "tag" {
			continue
		}
		typeName := tag.text("tag_type_name")
		if o.kind.name == "address-group" && typeName != "label" {
			return refuse(http.StatusBadRequest, "Invalid tag type %s for object type %s", typeName, o.kind.field)
		}
		if seen[typeName] && !multiple(typeName) {
			return refuse(http.StatusBadRequest, "Tag type '%s' cannot be set multiple times on the same %s resource type", typeName, o.kind.title)
		}
		seen[typeName] = true
	}
	return nil
}

// multiple reports whether an object may have several tags of a type.
func multiple(typeName string) bool {
	return typeName == "label" || typeName == "neutron_fwaas" || typeName == "neutron_tag"
}

// refDict is one reference as it is read.
func (db *database) refDict(kind, uuid string, attr any) dict {
	to := []any{"ERROR"}
	if target := db.byUUID[uuid]; target != nil && target.kind.name == kind {
		to = anys(target.fqName)
	}
	return dict{{"to", to}, {"attr", attr}, {"uuid", uuid}}
}

// withRefs is what an object's references to a kind would be with those of a body.
func withRefs(o *object, refs map[string]map[string]any, kind string) map[string]any {
	if r, ok := refs[kind]; ok {
		return r
	}
	return o.refs[kind]
}

func hrefs(base string, objects map[string]*object) string {
	var out []string
	for _, uuid := range slices.Sorted(maps.Keys(objects)) {
		out = append(out, fmt.Sprintf("%s/%s/%s", base, objects[uuid].kind.name, uuid))
	}
	return repr(out)
}
