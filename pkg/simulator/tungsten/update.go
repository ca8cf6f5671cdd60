package tungsten

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// update replaces the fields of an object that a body contains.
func (db *database) update(o *object, body dict) *refusal {
	if bad := immutable(o, body); bad != nil {
		return bad
	}
	next := o.copy()
	if bad := db.readProps(next, body, "http_put"); bad != nil {
		return bad
	}
	if bad := db.checkRefs(o.kind, body, "http_put"); bad != nil {
		return bad
	}
	if bad := next.setPerms(body, false); bad != nil {
		return bad
	}
	if bad := next.clear(body); bad != nil {
		o.lists = next.lists // which the crash left behind
		return bad
	}
	refs, bad := db.resolveRefs(next, body, "update")
	if bad != nil {
		return bad
	}
	if bad := db.beforeUpdate(next, body, refs); bad != nil {
		return bad
	}
	o.props, o.lists, o.idPerms, o.perms2 = next.props, next.lists, next.idPerms, next.perms2
	for _, kind := range slices.Sorted(maps.Keys(refs)) {
		db.setRefs(o, kind, refs[kind])
	}
	db.touch(o)
	return nil
}

// copy is a copy of o whose own fields can be changed.
func (o *object) copy() *object {
	c := *o
	c.props, c.lists = maps.Clone(o.props), maps.Clone(o.lists)
	c.idPerms, c.perms2 = slices.Clone(o.idPerms), slices.Clone(o.perms2)
	return &c
}

// immutable refuses changes of what never changes.
func immutable(o *object, body dict) *refusal {
	switch o.kind.name {
	case "tag":
		for _, name := range []string{"display_name", "tag_type_name", "tag_value", "tag_id"} {
			if _, ok := body.get(name); ok {
				return refuse(http.StatusBadRequest, "Tag name, type, value or ID cannot be updated")
			}
		}
	case "tag-type":
		for _, name := range []string{"display_name", "tag_type_id"} {
			if _, ok := body.get(name); ok {
				return refuse(http.StatusBadRequest, "Tag Type value or ID cannot be updated")
			}
		}
	case "application-policy-set":
		return checkAllApplications(body)
	}
	return nil
}

// clear does what null does: it removes a property that is stored, and is stored itself where none is. For lists and maps the
// server crashes after it has removed the elements.
func (o *object) clear(body dict) *refusal {
	for _, m := range body {
		p := o.kind.props[m.key]
		if p == nil || m.value != nil {
			continue
		}
		switch {
		case p.wrapper != "" && p.key != "":
			delete(o.lists, m.key)
			return crash("TypeError: 'NoneType' object is not iterable")
		case p.wrapper != "":
			delete(o.lists, m.key)
			return crash("TypeError: object of type 'NoneType' has no len()")
		case m.key == "action_list":
			return crash("AttributeError: 'NoneType' object has no attribute 'get'")
		}
		if _, stored := o.props[m.key]; stored {
			delete(o.props, m.key)
		} else {
			o.props[m.key] = nil
		}
	}
	return nil
}

// beforeUpdate does what is particular to a kind before a change is stored. o is the object to come.
func (db *database) beforeUpdate(o *object, body dict, refs map[string]map[string]any) *refusal {
	switch o.kind.name {
	case "firewall-rule":
		return db.completeRule(o, body, refs)
	case "service-group":
		if bad := completeServices(o.lists["service_group_firewall_service_list"]); bad != nil {
			return bad
		}
	case "global-system-config", "project":
		if bad := db.switchDraft(o); bad != nil {
			return bad
		}
	}
	if tags, ok := refs["tag"]; ok {
		return db.checkTags(o, tags)
	}
	return nil
}

// canDelete checks that nothing needs an object. base is the server's address, which the message contains.
func (db *database) canDelete(o *object, base string) *refusal {
	for _, kind := range slices.Sorted(maps.Keys(o.children)) {
		mine := make(map[string]*object)
		for uuid, c := range o.children[kind] {
			if !c.automatic {
				mine[uuid] = c
			}
		}
		if len(mine) > 0 {
			return refuse(http.StatusConflict, "Delete when children still present: %s", hrefs(base, mine))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(o.backRefs)) {
		if len(o.backRefs[kind]) > 0 {
			return refuse(http.StatusConflict, "Delete when resource still referred: %s", hrefs(base, o.backRefs[kind]))
		}
	}
	if o.kind.name == "application-policy-set" && o.props["all_applications"] == true {
		return refuse(http.StatusBadRequest, "Application Policy Set defined on all applications cannot be deleted")
	}
	return nil
}

// delete removes an object that nothing needs.
func (db *database) delete(o *object) {
	db.remove(o)
	db.afterDelete(o)
}

// updateRef adds or removes one reference.
func (db *database) updateRef(o *object, kind, uuid string, add bool, attr any) *refusal {
	if !add {
		db.dropRef(o, kind, uuid)
		db.touch(o)
		return nil
	}
	target := db.byUUID[uuid]
	p, allowed := o.kind.refs[kind]
	if !allowed {
		return refuse(http.StatusBadRequest, "Bad Request: %s has no reference to %s", o.kind.field, kind)
	}
	if attr != nil {
		ref := dict{{"to", anys(target.fqName)}, {"attr", attr}, {"uuid", uuid}}
		if bad := checkAttr(p, kind, ref, "ref-update"); bad != nil {
			return bad
		}
	}
	if kind == scopedRef(o.kind) && target.scoped() && !o.scoped() {
		return outOfScope(o, target)
	}
	if kind == "tag" && (o.kind.name == "address-group" || !multiple(target.text("tag_type_name"))) {
		refs := map[string]any{uuid: nil}
		maps.Copy(refs, o.refs[kind])
		if bad := db.checkTags(o, refs); bad != nil {
			return bad
		}
	}
	db.setRef(o, kind, uuid, attr)
	db.touch(o)
	return nil
}

// updateCollection changes elements of list and map properties.
func (db *database) updateCollection(o *object, updates []any) *refusal {
	lists := maps.Clone(o.lists)
	for _, e := range updates {
		u, _ := e.(dict)
		field, operation, position := u.text("field"), u.text("operation"), u.text("position")
		p := o.kind.props[field]
		if p == nil || p.wrapper == "" {
			return refuse(http.StatusBadRequest, `%s neither "ListProperty" nor "MapProperty"`, field)
		}
		if !contains(map[bool][]string{true: {"set", "delete"}, false: {"add", "modify", "delete"}}[p.key != ""], operation) {
			return refuse(http.StatusBadRequest, "Unsupported operation %s in request %s", operation, encodeSpaced(u))
		}
		elements := maps.Clone(lists[field])
		if elements == nil {
			elements = make(map[string]any)
		}
		lists[field] = elements
		if operation == "delete" {
			delete(elements, position)
			continue
		}
		value, _ := u.get("value")
		if element := p.element(); element != nil {
			body, ok := value.(dict)
			if !ok {
				return crash("")
			}
			if p.key != "" {
				key, _ := body.get(p.key)
				position = plain(key)
			}
		}
		if position == "" {
			position = newUUID()
		}
		elements[position] = value
	}
	o.lists = lists
	db.touch(o)
	return nil
}

// collection reads the elements of one list or map property.
func (o *object) collection(field, position string) (any, *refusal) {
	p := o.kind.props[field]
	if p == nil || p.wrapper == "" {
		return nil, refuse(http.StatusBadRequest, `%s neither "ListProperty" nor "MapProperty"`, field)
	}
	out := []any{}
	for _, at := range slices.Sorted(maps.Keys(o.lists[field])) {
		if position == "" || position == at {
			out = append(out, []any{o.lists[field][at], fmt.Sprint(at)})
		}
	}
	return out, nil
}
