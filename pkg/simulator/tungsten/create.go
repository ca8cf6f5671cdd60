package tungsten

import (
	"fmt"
	"maps"
	"net/http"
)

// create makes an object of a kind from the body of a POST.
func (db *database) create(k *kind, body dict) (*object, *refusal) {
	o := &object{kind: k, props: make(map[string]any), lists: make(map[string]map[string]any), refs: make(map[string]map[string]any)}
	if bad := db.readProps(o, body, "create"); bad != nil {
		return nil, bad
	}
	if bad := db.checkRefs(k, body, "create"); bad != nil {
		return nil, bad
	}
	if bad := db.identify(o, body); bad != nil {
		return nil, bad
	}
	if bad := o.setPerms(body, true); bad != nil {
		return nil, bad
	}
	refs, bad := db.resolveRefs(o, body, "create")
	if bad != nil {
		return nil, bad
	}
	o.refs = refs
	if _, named := o.props["display_name"]; !named {
		o.props["display_name"] = o.name()
	}
	if bad := db.beforeCreate(o, body); bad != nil {
		return nil, bad
	}
	maps.DeleteFunc(o.refs, func(_ string, refs map[string]any) bool { return len(refs) == 0 })
	return o, nil
}

// readProps validates the properties in a body and stores them in o.
func (db *database) readProps(o *object, body dict, operation string) *refusal {
	for _, m := range body {
		p := o.kind.props[m.key]
		if p == nil || m.value == nil {
			continue
		}
		if p == free {
			o.props[m.key] = m.value
			continue
		}
		value, err := p.check(m.key, m.value)
		if err != nil {
			return refuse(http.StatusBadRequest, "Bad property in %s: %v", operation, err)
		}
		if p.wrapper == "" {
			o.props[m.key] = value
			continue
		}
		elements, bad := p.elements(value.(dict))
		if bad != nil {
			return bad
		}
		o.lists[m.key] = elements
	}
	return nil
}

// elements are those of a list or map property by position.
func (p *property) elements(value dict) (map[string]any, *refusal) {
	inner, _ := value.get(p.wrapper)
	list, _ := inner.([]any)
	out := make(map[string]any, len(list))
	for i, e := range list {
		position := fmt.Sprint(i)
		if p.key != "" {
			key, ok := e.(dict).get(p.key)
			if !ok {
				return nil, crash("KeyError: " + repr(p.key))
			}
			position = plain(key)
		}
		out[position] = e
	}
	return out, nil
}

// identify gives a new object its name, parent and UUID.
func (db *database) identify(o *object, body dict) *refusal {
	sent, ok := body.get("fq_name")
	if !ok {
		return refuse(http.StatusBadRequest, "Bad Request, no fq_name in POST body")
	}
	fqName, ok := texts(sent)
	if !ok || len(fqName) == 0 {
		s, isText := sent.(string)
		if !isText || s == "" {
			return crash("")
		}
		runes := []rune(s)
		return refuse(http.StatusNotFound, "Name%s not found", repr(string(runes[:len(runes)-1])))
	}
	if hasColon(fqName[len(fqName)-1]) {
		return refuse(http.StatusBadRequest, "Bad Request, name has one of invalid chars {':'}")
	}
	if o.kind.name == "tag" {
		last, bad := tagName(o)
		if bad != nil {
			return bad
		}
		fqName[len(fqName)-1] = last
	}
	o.fqName = fqName
	if bad := db.adopt(o, body); bad != nil {
		return bad
	}
	if other := db.byName[o.kind][o.fqText()]; other != nil {
		return refuse(http.StatusConflict, "%s already exists with uuid: %s", repr(o.fqName), other.uuid)
	}
	o.uuid = newUUID()
	if chosen, ok := body.get("uuid"); ok && chosen != nil {
		o.uuid = plain(chosen)
		if !isUUID(o.uuid) {
			return crash("")
		}
	}
	if other := db.byUUID[o.uuid]; other != nil {
		return refuse(http.StatusConflict, "%s already exists with fq_name: %s", o.uuid, repr(other.fqName))
	}
	return nil
}

// adopt finds the parent of a new object.
func (db *database) adopt(o *object, body dict) *refusal {
	sent, given := body.get("parent_type")
	parentType, _ := sent.(string)
	above := o.fqName[:len(o.fqName)-1]
	switch {
	case !given && o.kind.root, parentType == "config-root" && o.kind.root:
		if len(above) > 0 {
			return refuse(http.StatusBadRequest, "Invalid fq-name of an object with no parent: %s", repr(o.fqName))
		}
		return nil
	case !given:
		return refuse(http.StatusBadRequest, "Missing parent type: None. Allowed types: %s", repr(o.kind.allowedParents()))
	case !contains(o.kind.parents, parentType):
		return refuse(http.StatusBadRequest, "Invalid parent type: %s. Allowed types: %s", plain(sent), repr(o.kind.allowedParents()))
	}
	if id := body.text("parent_uuid"); id != "" {
		if parent := db.byUUID[id]; parent == nil || parent.kind.name != parentType {
			return refuse(http.StatusNotFound, "Parent %s cannot be found: Unknown id: %s", db.fieldOf(parentType), id)
		}
	}
	if o.parent = db.find(parentType, above); o.parent == nil {
		return refuse(http.StatusNotFound, "Name%s not found", repr(above))
	}
	return nil
}

func (db *database) fieldOf(kind string) string {
	if k := db.kinds[kind]; k != nil {
		return k.field
	}
	return kind
}

// setPerms sets what a body may set of the permissions: all of it in a POST, little in a PUT.
func (o *object) setPerms(body dict, create bool) *refusal {
	settable := []string{"enable", "description"}
	if create {
		settable = append(settable, "user_visible", "creator")
		owner := any("cloud-admin")
		if o.parent != nil {
			owner, _ = o.parent.perms2.get("owner")
		}
		o.idPerms = dict{{"enable", true}, {"description", nil}, {"user_visible", true}, {"creator", nil}}
		o.perms2 = dict{{"owner", owner}, {"owner_access", 7}, {"global_access", 0}, {"share", []any{}}}
	}
	if sent, ok := body.get("id_perms"); ok {
		given, _ := sent.(dict)
		for _, name := range settable {
			if v, ok := given.get(name); ok {
				o.idPerms.set(name, v)
			}
		}
	}
	if sent, ok := body.get("perms2"); ok && sent != nil {
		given, _ := sent.(dict)
		if _, ok := given.get("owner"); !ok && !create {
			return refuse(http.StatusBadRequest, "owner in perms2 must be present")
		}
		for _, name := range []string{"owner", "owner_access", "global_access", "share"} {
			if v, ok := given.get(name); ok {
				o.perms2.set(name, v)
			}
		}
	}
	return nil
}
