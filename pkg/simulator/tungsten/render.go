package tungsten

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// view is which parts of an object a request asks for.
type view struct {
	base     string // address of the server, for links; "" for none
	fields   []string
	all      bool // every property and reference, besides fields
	back     bool // every reference from other objects
	children bool
	perms    bool // id_perms and perms2 even if they are not listed
	name     bool
	parent   bool
	noParent bool // parent_type and parent_uuid are null if there is none
}

// stamp prints a time as the server does.
func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000000") }

// render prints an object as a view shows it.
func (db *database) render(o *object, v view) dict {
	out := dict{{"uuid", o.uuid}, {"fq_name", anys(o.fqName)}}
	if v.name {
		out = append(out, member{"name", o.name()})
	}
	if v.parent {
		out = append(out, o.parentMembers(v)...)
	}
	if v.base != "" {
		out = append(out, member{"href", v.base + "/" + o.kind.name + "/" + o.uuid})
	}
	if v.perms || v.all {
		out = append(out, member{"id_perms", o.renderPerms()}, member{"perms2", o.perms2})
	}
	if v.all {
		for _, name := range slices.Sorted(maps.Keys(o.kind.props)) {
			if value, ok := o.property(name); ok {
				out = append(out, member{name, value})
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(o.refs)) {
			out = append(out, member{refField(kind), db.renderRefs(o, kind, v)})
		}
	}
	if v.back {
		for _, kind := range slices.Sorted(maps.Keys(o.backRefs)) {
			out = db.appendBackRefs(out, o, kind, v)
		}
	}
	if v.children {
		for _, kind := range slices.Sorted(maps.Keys(o.children)) {
			out = db.appendChildren(out, o, kind, v)
		}
	}
	for _, field := range v.fields {
		if _, shown := out.get(field); !shown {
			out = db.appendField(out, o, field, v)
		}
	}
	return out
}

func (o *object) parentMembers(v view) dict {
	switch {
	case o.parent == nil && v.noParent:
		return dict{{"parent_type", nil}, {"parent_uuid", nil}}
	case o.parent == nil:
		return nil
	}
	out := dict{{"parent_type", o.parent.kind.name}, {"parent_uuid", o.parent.uuid}}
	if v.base != "" && v.name {
		out = append(out, member{"parent_href", v.base + "/" + o.parent.kind.name + "/" + o.parent.uuid})
	}
	return out
}

func (o *object) renderPerms() dict {
	owner, group := "cloud-admin", "cloud-admin-group"
	if o.props["draft_mode_state"] != nil {
		owner, group = "contrail-api", "admin"
	}
	digits := strings.ReplaceAll(o.uuid, "-", "")
	high, _ := strconv.ParseUint(digits[:16], 16, 64) // a UUID is hexadecimal
	low, _ := strconv.ParseUint(digits[16:], 16, 64)
	return append(dict{
		{"permissions", dict{
			{"owner", owner}, {"owner_access", 7}, {"group", group}, {"group_access", 7}, {"other_access", 7},
		}},
		{"uuid", dict{{"uuid_mslong", high}, {"uuid_lslong", low}}},
		{"created", stamp(o.created)},
		{"last_modified", stamp(o.modified)},
	}, o.idPerms...)
}

// renderRefs lists the references of an object to a kind.
func (db *database) renderRefs(o *object, kind string, v view) []any {
	out := []any{}
	for _, uuid := range o.targets(kind) {
		ref := db.refDict(kind, uuid, o.refs[kind][uuid])
		if v.base != "" {
			ref = append(ref, member{"href", v.base + "/" + kind + "/" + uuid})
		}
		out = append(out, ref)
	}
	return out
}

func (db *database) appendBackRefs(out dict, o *object, kind string, v view) dict {
	list := []any{}
	referred := o.referred(kind)
	for _, uuid := range slices.Sorted(maps.Keys(referred)) {
		from := referred[uuid]
		ref := dict{{"to", anys(from.fqName)}, {"attr", from.refs[o.kind.name][o.uuid]}, {"uuid", uuid}}
		if v.base != "" {
			ref = append(ref, member{"href", v.base + "/" + kind + "/" + uuid})
		}
		list = append(list, ref)
	}
	if len(list) == 0 {
		return out
	}
	return append(out, member{db.fieldOf(kind) + "_back_refs", list})
}

func (db *database) appendChildren(out dict, o *object, kind string, v view) dict {
	list := []any{}
	for _, uuid := range slices.Sorted(maps.Keys(o.children[kind])) {
		child := dict{{"to", anys(o.children[kind][uuid].fqName)}, {"uuid", uuid}}
		if v.base != "" {
			child = append(child, member{"href", v.base + "/" + kind + "/" + uuid})
		}
		list = append(list, child)
	}
	if len(list) == 0 {
		return out
	}
	return append(out, member{db.fieldOf(kind) + "s", list})
}

// appendField adds one field by name, if the object has it.
func (db *database) appendField(out dict, o *object, field string, v view) dict {
	switch field {
	case "id_perms":
		return append(out, member{field, o.renderPerms()})
	case "perms2":
		return append(out, member{field, o.perms2})
	}
	if value, ok := o.property(field); ok {
		return append(out, member{field, value})
	}
	if name, ok := strings.CutSuffix(field, "_back_refs"); ok {
		return db.appendBackRefs(out, o, dashed(name), v)
	}
	if name, ok := strings.CutSuffix(field, "_refs"); ok {
		if kind := dashed(name); len(o.refs[kind]) > 0 {
			return append(out, member{field, db.renderRefs(o, kind, v)})
		}
		return out
	}
	if name, ok := strings.CutSuffix(field, "s"); ok {
		return db.appendChildren(out, o, dashed(name), v)
	}
	return out
}
