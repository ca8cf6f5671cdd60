package tungsten

import (
	"maps"
	"net/http"
	"strings"
)

// readTags does the first half of a set-tag: it computes the tags that an object is to have. The second half stores them, whatever
// was written in between; so concurrent requests overwrite each other.
func (db *database) readTags(body dict) (o *object, tags map[string]any, bad *refusal) {
	objectType, id := body.text("obj_type"), body.text("obj_uuid")
	if objectType == "" || id == "" {
		return nil, nil, refuse(http.StatusBadRequest, "Object type and UUID must be specified")
	}
	k := db.kinds[dashed(objectType)]
	if k == nil {
		return nil, nil, refuse(http.StatusBadRequest, "Invalid Contrail resource type: %s", objectType)
	}
	if o = db.byUUID[id]; o == nil || o.kind != k {
		return nil, nil, refuse(http.StatusNotFound, "Unknown id: %s", id)
	}
	tags = maps.Clone(o.refs["tag"])
	if tags == nil {
		tags = make(map[string]any)
	}
	for _, m := range body {
		if m.key == "obj_type" || m.key == "obj_uuid" {
			continue
		}
		if bad := db.setTagType(o, tags, strings.ToLower(m.key), m.value); bad != nil {
			return nil, nil, bad
		}
	}
	return o, tags, nil
}

// setTagType changes the tags of one type.
func (db *database) setTagType(o *object, tags map[string]any, typeName string, sent any) *refusal {
	current := db.tagsOfType(tags, typeName)
	if sent == nil {
		for _, uuid := range current {
			delete(tags, uuid)
		}
		return nil
	}
	want, ok := sent.(dict)
	if !ok {
		return crash("")
	}
	added, removed := listed(want, "add_values"), listed(want, "delete_values")
	value, hasValue := want.text("value"), false
	if v, _ := want.get("value"); v != nil {
		_, hasValue = v.(string)
	}
	if !multiple(typeName) {
		if len(added) > 0 || len(removed) > 0 {
			return refuse(http.StatusBadRequest, "Tag type %s cannot be set multiple times on a same object.", typeName)
		}
		if !hasValue {
			return refuse(http.StatusBadRequest, "No valid value provided for tag type %s", typeName)
		}
		if _, set := current[value]; set {
			return nil
		}
		for _, uuid := range current {
			delete(tags, uuid)
		}
		return db.addTag(o, tags, typeName, value, want)
	}
	if hasValue {
		added = append(added, value)
	}
	for _, v := range added {
		if _, set := current[v]; set {
			continue
		}
		if bad := db.addTag(o, tags, typeName, v, want); bad != nil {
			return bad
		}
	}
	for _, v := range removed {
		if uuid, set := current[v]; set {
			delete(tags, uuid)
		}
	}
	return nil
}

// tagsOfType lists an object's tags of a type by value. Of two with one value, in different scopes, it lists one.
func (db *database) tagsOfType(tags map[string]any, typeName string) map[string]string {
	out := make(map[string]string)
	for uuid := range tags {
		if tag := db.byUUID[uuid]; tag != nil && tag.text("tag_type_name") == typeName {
			out[tag.text("tag_value")] = uuid
		}
	}
	return out
}

// addTag finds a tag in the scope that the request names.
func (db *database) addTag(o *object, tags map[string]any, typeName, value string, want dict) *refusal {
	fqName := []string{typeName + "=" + value}
	if global, _ := want.get("is_global"); global != true {
		project := o
		for project != nil && project.kind.name != "project" {
			project = project.parent
		}
		if project != nil {
			fqName = append(append([]string{}, project.fqName...), fqName...)
		}
	}
	tag := db.find("tag", fqName)
	if tag == nil {
		return refuse(http.StatusNotFound, "Tag with FQName %s not found", repr(fqName))
	}
	tags[tag.uuid] = nil
	return nil
}

func listed(d dict, key string) []string {
	v, _ := d.get(key)
	out, _ := texts(v)
	return out
}
