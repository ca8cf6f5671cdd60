package tungsten

import (
	"slices"
	"time"
)

// database holds the objects and their indexes.
type database struct {
	kinds  map[string]*kind
	byUUID map[string]*object
	byName map[*kind]map[string]*object // by fully qualified name in one string
	plain  map[*kind][]*object          // the cached order of plain lists; absent if it must be computed again
	tagIDs tagIDs
	addrs  map[string]*addresses // by UUID of the virtual network
	last   time.Time             // of the last write

	changes []change // of the current write
}

// change is one object that a write created, changed or deleted.
type change struct {
	event string // "create", "update" or "delete"
	kind  *kind
	uuid  string
}

func newDatabase() *database {
	db := &database{
		kinds: kinds(), byUUID: make(map[string]*object), byName: make(map[*kind]map[string]*object),
		plain: make(map[*kind][]*object), tagIDs: newTagIDs(), addrs: make(map[string]*addresses),
	}
	for _, k := range db.kinds {
		db.byName[k] = make(map[string]*object)
	}
	return db
}

// find returns the object of a kind with a fully qualified name, nil if there is none. A name with a colon inside one of its
// parts is never found.
func (db *database) find(kind string, fqName []string) *object {
	o := db.byName[db.kinds[kind]][joinName(fqName)]
	if o == nil || !slices.Equal(o.fqName, fqName) {
		return nil
	}
	for _, part := range fqName {
		if hasColon(part) {
			return nil
		}
	}
	return o
}

// list returns the objects of a kind in the order of plain lists.
func (db *database) list(k *kind) []*object {
	if all, ok := db.plain[k]; ok {
		return all
	}
	all := make([]*object, 0, len(db.byName[k]))
	for _, o := range db.byName[k] {
		all = append(all, o)
	}
	all = sorted(all)
	db.plain[k] = all
	return all
}

// now is the time of a write: later than that of the one before.
func (db *database) now() time.Time {
	t := time.Now().UTC().Truncate(time.Microsecond)
	if !t.After(db.last) {
		t = db.last.Add(time.Microsecond)
	}
	db.last = t
	return t
}

// add stores a new object, with its references.
func (db *database) add(o *object) {
	o.created = db.now()
	o.modified = o.created
	db.byUUID[o.uuid] = o
	db.byName[o.kind][o.fqText()] = o
	delete(db.plain, o.kind)
	if o.parent != nil {
		index(&o.parent.children, o)
	}
	for kind, refs := range o.refs {
		for uuid := range refs {
			db.link(o, kind, uuid)
		}
	}
	db.changes = append(db.changes, change{"create", o.kind, o.uuid})
}

// remove deletes an object and what the server made for it. References to it dangle.
func (db *database) remove(o *object) {
	for _, children := range o.children {
		for _, c := range children {
			db.remove(c)
		}
	}
	for kind, refs := range o.refs {
		for uuid := range refs {
			db.unlink(o, kind, uuid)
		}
	}
	delete(db.byUUID, o.uuid)
	delete(db.byName[o.kind], o.fqText())
	delete(db.plain, o.kind)
	if o.parent != nil {
		delete(o.parent.children[o.kind.name], o.uuid)
	}
	db.changes = append(db.changes, change{"delete", o.kind, o.uuid})
}

// rename gives an object another name and parent.
func (db *database) rename(o, parent *object, fqName []string) {
	delete(db.byName[o.kind], o.fqText())
	delete(o.parent.children[o.kind.name], o.uuid)
	o.parent, o.fqName = parent, fqName
	index(&o.parent.children, o)
	db.byName[o.kind][o.fqText()] = o
	delete(db.plain, o.kind)
	db.touch(o)
}

// touch records that an object changed.
func (db *database) touch(o *object) {
	o.modified = db.now()
	db.changes = append(db.changes, change{"update", o.kind, o.uuid})
}

// setRefs replaces the references of an object to a kind.
func (db *database) setRefs(o *object, kind string, refs map[string]any) {
	for uuid := range o.refs[kind] {
		db.unlink(o, kind, uuid)
	}
	if o.refs == nil {
		o.refs = make(map[string]map[string]any)
	}
	o.refs[kind] = refs
	if len(refs) == 0 {
		delete(o.refs, kind)
	}
	for uuid := range refs {
		db.link(o, kind, uuid)
	}
}

// setRef adds one reference, or changes its attribute.
func (db *database) setRef(o *object, kind, uuid string, attr any) {
	if o.refs[kind] == nil {
		db.setRefs(o, kind, map[string]any{uuid: attr})
		return
	}
	o.refs[kind][uuid] = attr
	db.link(o, kind, uuid)
}

// dropRef removes one reference.
func (db *database) dropRef(o *object, kind, uuid string) {
	if _, ok := o.refs[kind][uuid]; !ok {
		return
	}
	db.unlink(o, kind, uuid)
	delete(o.refs[kind], uuid)
	if len(o.refs[kind]) == 0 {
		delete(o.refs, kind)
	}
}

// link enters a reference into the index of its target.
func (db *database) link(o *object, kind, uuid string) {
	if target := db.byUUID[uuid]; target != nil && target.kind.name == kind {
		index(&target.backRefs, o)
	}
}

func (db *database) unlink(o *object, kind, uuid string) {
	if target := db.byUUID[uuid]; target != nil && target.kind.name == kind {
		delete(target.backRefs[o.kind.name], o.uuid)
	}
}

func index(in *map[string]map[string]*object, o *object) {
	if *in == nil {
		*in = make(map[string]map[string]*object)
	}
	if (*in)[o.kind.name] == nil {
		(*in)[o.kind.name] = make(map[string]*object)
	}
	(*in)[o.kind.name][o.uuid] = o
}
