package tungsten

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// The security draft mode: writes of security objects go to copies below a policy-management of their own, until someone
// commits or discards them.

const draftName = "draft-policy-management"

// draftScope returns the policy-management of the drafts of an object with that parent, nil if it is not to be drafted.
func (db *database) draftScope(k *kind, parent *object) *object {
	if !k.secured || parent == nil || parent.name() == draftName {
		return nil
	}
	if parent.kind.name == "project" {
		return db.find("policy-management", draftOf(parent))
	}
	return db.find("policy-management", []string{draftName})
}

func draftOf(project *object) []string {
	return append(append([]string{}, project.fqName...), draftName)
}

// switchDraft follows a change of the draft mode of a scope. o is the scope to come.
func (db *database) switchDraft(o *object) *refusal {
	name, scope := []string{draftName}, "global scope"
	if o.kind.name == "project" {
		name, scope = draftOf(o), "project "+o.fqText()
	}
	on, was := o.props["enable_security_policy_draft"] == true, db.find("policy-management", name)
	switch {
	case on && was == nil:
		pm := db.make("policy-management", nil, draftName)
		if len(name) > 1 {
			delete(db.byName[pm.kind], pm.fqText())
			pm.fqName = name
			db.byName[pm.kind][pm.fqText()] = pm
		}
	case !on && was != nil:
		if pending := db.drafts(was); len(pending) > 0 {
			text := fmt.Sprintf("Cannot disable security draft mode on %s as some pending security resource(s) need to be reviewed:", scope)
			for _, d := range pending {
				text += fmt.Sprintf("\n\t- %ss: %s (%s)", d.kind.title, d.fqText(), d.uuid)
			}
			return refuse(http.StatusConflict, "%s", text)
		}
		db.remove(was)
	}
	return nil
}

// drafts lists the pending drafts of a scope.
func (db *database) drafts(pm *object) []*object {
	var out []*object
	for _, kind := range slices.Sorted(maps.Keys(pm.children)) {
		for _, uuid := range slices.Sorted(maps.Keys(pm.children[kind])) {
			out = append(out, pm.children[kind][uuid])
		}
	}
	return out
}

// draftCreate stores a new object as a draft.
func (db *database) draftCreate(o, pm *object) *refusal {
	name := append(append([]string{}, pm.fqName...), o.name())
	if db.find(o.kind.name, name) != nil {
		return refuse(http.StatusBadRequest,
			"%s named %s was already created and it is pending to be committed or discarded. You cannot create it again", o.kind.title, o.fqText())
	}
	o.parent, o.fqName = pm, name
	o.props["draft_mode_state"] = "created"
	db.add(o)
	return nil
}

// draftCopy returns the draft of an object, and makes it first if there is none.
func (db *database) draftCopy(o, pm *object, state string) *object {
	name := append(append([]string{}, pm.fqName...), o.name())
	d := db.find(o.kind.name, name)
	if d == nil {
		d = o.copy()
		d.uuid, d.parent, d.fqName = newUUID(), pm, name
		d.refs = make(map[string]map[string]any)
		for kind, refs := range o.refs {
			d.refs[kind] = maps.Clone(refs)
		}
		d.backRefs, d.children = nil, nil
		d.props["draft_mode_state"] = state
		db.add(d)
	} else if d.props["draft_mode_state"] != "created" {
		d.props["draft_mode_state"] = state
	}
	return d
}

// finishDrafts commits or discards the drafts of a scope.
func (db *database) finishDrafts(body dict) *refusal {
	scope := db.byUUID[body.text("scope_uuid")]
	action := body.text("action")
	if !contains([]string{"commit", "discard"}, action) {
		return refuse(http.StatusBadRequest, "Only 'commit' or 'discard' actions are supported")
	}
	if scope == nil {
		return refuse(http.StatusNotFound, "Unknown id: %s", body.text("scope_uuid"))
	}
	name := []string{draftName}
	if scope.kind.name == "project" {
		name = draftOf(scope)
	}
	pm := db.find("policy-management", name)
	if pm == nil {
		return refuse(http.StatusBadRequest, "Security draft mode is not enabled on the %s %s (%s)", scope.kind.title, repr(scope.fqName), scope.uuid)
	}
	parent := scope
	if scope.kind.name != "project" {
		parent = db.find("policy-management", []string{"default-policy-management"})
	}
	for _, d := range db.drafts(pm) {
		if action == "discard" {
			db.delete(d)
			continue
		}
		db.commit(d, parent)
	}
	return nil
}

// commit puts one draft in force.
func (db *database) commit(d, parent *object) {
	name := append(append([]string{}, parent.fqName...), d.name())
	state := d.props["draft_mode_state"]
	delete(d.props, "draft_mode_state")
	if state == "created" {
		db.rename(d, parent, name)
		return
	}
	enforced := db.find(d.kind.name, name)
	db.delete(d)
	switch {
	case enforced == nil:
	case state == "deleted":
		db.delete(enforced)
	default:
		enforced.props, enforced.lists, enforced.idPerms, enforced.perms2 = d.props, d.lists, d.idPerms, d.perms2
		for kind := range d.kind.refs {
			db.setRefs(enforced, kind, d.refs[kind])
		}
		db.touch(enforced)
	}
}
