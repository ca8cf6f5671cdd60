package sets

import (
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Refs are the sets that one translated object retains. The zero value retains nothing.
type Refs struct {
	sets     []intent.SetID
	unions   []unionRef
	numbers  []intent.SetID // of sets, those for the numbers of a named port
	gate     intent.SetID   // the set that has to have a member for snapshots to show the object; if "", it is always shown
	subjects []addition
	shown    bool
}

// addition is a term in a set that has those of many objects.
type addition struct {
	set  intent.SetID
	term labelcache.Term
}

// Isolates reports whether the endpoints of some term are isolated in a direction.
func (r *Refs) Isolates(d intent.Direction) bool {
	return slices.ContainsFunc(r.subjects, func(a addition) bool { return a.set == intent.IsolatedSet(d) })
}

// Shown reports whether snapshots show the object.
func (r *Refs) Shown() bool { return r.shown }

// Join takes over what other retains. Other retains nothing afterwards.
func (r *Refs) Join(other *Refs) {
	r.sets, r.numbers = append(r.sets, other.sets...), append(r.numbers, other.numbers...)
	r.unions = append(r.unions, other.unions...)
	r.subjects = append(r.subjects, other.subjects...)
	*other = Refs{}
}

// Terms lists the terms that refs select endpoints by, some repeatedly.
func (t *Table) Terms(refs ...*Refs) []labelcache.Term {
	var out []labelcache.Term
	for _, r := range refs {
		for _, id := range r.sets {
			out = append(out, t.cached(t.retained[id].spec)...)
		}
		for _, a := range r.subjects {
			out = append(out, a.term)
		}
	}
	return out
}

// Drop releases the sets of Refs that belong to no object yet.
func (t *Table) Drop(r *Refs) {
	t.releaseAll(r)
	*r = Refs{}
}

func (t *Table) releaseAll(r *Refs) {
	for _, id := range r.sets {
		t.release(id)
	}
	for _, u := range r.unions {
		t.releaseUnion(u)
	}
}

// Retain retains the set of spec.
func (t *Table) Retain(r *Refs, spec Spec) intent.SetID {
	spec = spec.canonical()
	id := t.retain(spec.id(), spec, false)
	r.sets = append(r.sets, id)
	return id
}

// Numbers lists the port numbers that a named port resolves to on the endpoints of spec now. The object is translated again
// when they change.
func (t *Table) Numbers(r *Refs, spec Spec) []uint16 {
	spec = spec.canonical()
	id := t.retain("numbers/"+spec.id(), spec, true)
	r.sets, r.numbers = append(r.sets, id), append(r.numbers, id)
	return t.view.Numbers(labelcache.SetID(id))
}

// Isolate has the subjects of a term isolated in a direction.
func (t *Table) Isolate(r *Refs, d intent.Direction, term labelcache.Term) {
	t.addSubjects(r, intent.IsolatedSet(d), term)
}

// LogSubjects has the connections of the subjects of a term reported in a direction.
func (t *Table) LogSubjects(r *Refs, d intent.Direction, term labelcache.Term) {
	t.addSubjects(r, intent.StagedSet(d), term)
}

// Share retains a set that has the subjects of every object that retains it, and adds those of a term. The title is the same for all.
func (t *Table) Share(r *Refs, id intent.SetID, title string, term labelcache.Term) {
	r.sets = append(r.sets, t.retain(id, Spec{shared: title, local: t.node != ""}, false))
	t.addSubjects(r, id, term)
}

func (t *Table) addSubjects(r *Refs, id intent.SetID, term labelcache.Term) {
	a := addition{id, t.own(term)}
	r.subjects = append(r.subjects, a)
	t.cache.AddTerm(labelcache.SetID(id), a.term)
}

// Gate makes snapshots show the object only while the set has a member, if there is an own node: policies that select no pod there do not
// affect it. Without an own node, every object is shown.
func (t *Table) Gate(r *Refs, id intent.SetID) {
	if t.node != "" {
		r.gate = id
	}
}

// Replace replaces what the object retains. Nil is nothing. What old retains is released by Release.
func (t *Table) Replace(of object.Ref, old, now *Refs) {
	if now == nil {
		now = &Refs{}
	}
	for _, id := range now.numbers {
		file(t.resolving, id, of)
	}
	if now.gate != "" {
		file(t.gated, now.gate, of)
	}
	if old == nil {
		return
	}
	stays := make(map[intent.SetID]bool, len(now.numbers))
	for _, id := range now.numbers {
		stays[id] = true
	}
	for _, id := range old.numbers {
		if !stays[id] {
			unfile(t.resolving, id, of)
		}
	}
	if old.gate != "" && now.gate != old.gate {
		unfile(t.gated, old.gate, of)
	}
	t.replaced = append(t.replaced, old)
}

// Release releases what replaced Refs retained.
func (t *Table) Release() {
	for _, old := range t.replaced {
		t.show(old, false)
		t.releaseAll(old)
		if t.keep {
			continue
		}
		for _, a := range old.subjects {
			t.cache.RemoveTerm(labelcache.SetID(a.set), a.term)
		}
	}
	t.replaced = nil
}

// Show makes snapshots show the sets of an object, unless its gate has no member.
func (t *Table) Show(r *Refs) {
	t.show(r, t.Shows(r))
}

// Shows reports whether the gate of an object has a member, or it has none.
func (t *Table) Shows(r *Refs) bool {
	m, _ := t.view.Set(labelcache.SetID(r.gate))
	return r.gate == "" || m.Len() > 0
}

// ShowWith has snapshots show the sets of an object while they show what else it retains.
func (t *Table) ShowWith(r, other *Refs) { t.show(r, other.shown) }

func (t *Table) show(r *Refs, shown bool) {
	if r.shown == shown {
		return
	}
	r.shown = shown
	by := 1
	if !shown {
		by = -1
	}
	for _, id := range r.sets {
		s := t.retained[id]
		was := s.shown > 0
		s.shown += by
		if was != (s.shown > 0) {
			t.touch(id)
		}
	}
	for _, u := range r.unions {
		t.showUnion(u, by)
	}
}

// file enters an object under a set.
func file(index map[intent.SetID]map[object.Ref]bool, id intent.SetID, ref object.Ref) {
	if index[id] == nil {
		index[id] = map[object.Ref]bool{}
	}
	index[id][ref] = true
}

// unfile undoes file.
func unfile(index map[intent.SetID]map[object.Ref]bool, id intent.SetID, ref object.Ref) {
	delete(index[id], ref)
	if len(index[id]) == 0 {
		delete(index, id)
	}
}
