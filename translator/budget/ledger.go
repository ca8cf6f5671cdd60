package budget

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// Ledger shares a budget between objects: within a namespace the older ones come first, and between namespaces, those that
// want less than an equal share get it all. Which objects fit in depends on their costs and ages alone, not on the order of
// calls. It is not safe for concurrent use.
type Ledger struct {
	Group string // what a group of objects is called in problems; "" is a namespace

	shares  Shares
	size    func(term string) int
	changed func(object.Ref)
	entries map[object.Ref]*entry
	groups  map[string]*group
	terms   map[string]*term
	use     int64 // of all groups
	whole   int64 // of the groups where all entries are Within
	short   int   // how many other groups there are
	limit   int64 // of each group; less than that of a namespace if the total is used up
	dirty   map[string]bool
}

// term is what a term matches, and who uses it. It costs each group once.
type term struct {
	endpoints int
	users     map[*group]use
}

// use is which entries of a group have a term.
type use struct {
	within int  // how many that are Within
	next   bool // the one that is Next
}

// NewLedger makes an empty ledger. Size returns how many endpoints a term matches; whenever that changes, Resize has to be called.
// It may be nil for objects without terms.
// Changed is called for each object whose standing has become another one, except for the one that a method is called for.
func NewLedger(shares Shares, size func(term string) int, changed func(object.Ref)) *Ledger {
	return &Ledger{
		shares: shares, size: size, changed: changed, limit: min(shares.Namespace, shares.Total),
		entries: map[object.Ref]*entry{}, groups: map[string]*group{}, terms: map[string]*term{}, dirty: map[string]bool{},
	}
}

// Standing returns the standing of an object, which is entered unless it is known. If the object is not Beyond, its cost must
// be set next.
func (l *Ledger) Standing(ref object.Ref, created metav1.Time) Standing {
	if e := l.entries[ref]; e != nil {
		if e.created.Equal(&created) {
			return e.standing
		}
		l.Remove(ref)
	}
	g := l.groups[ref.Namespace]
	if g == nil {
		g = newGroup(ref.Namespace)
		l.groups[ref.Namespace] = g
	}
	e := &entry{ref: ref, created: created}
	e.standing = g.place(e)
	g.entries.ReplaceOrInsert(e)
	l.entries[ref] = e
	l.dirty[g.name] = true
	return e.standing
}

// Created returns when an object was created that is known.
func (l *Ledger) Created(ref object.Ref) metav1.Time {
	if e := l.entries[ref]; e != nil {
		return e.created
	}
	return metav1.Time{}
}

// Fits reports whether an object is Within, or would be if it were entered.
func (l *Ledger) Fits(ref object.Ref, created metav1.Time) bool {
	e, g := l.entries[ref], l.groups[ref.Namespace]
	switch {
	case e != nil:
		return e.standing == Within
	case g == nil:
		return true
	default:
		return g.place(&entry{ref: ref, created: created}) == Within
	}
}

// Set records what an object costs, in bytes, besides the endpoints that its terms match, and returns the standing that it has
// with that.
func (l *Ledger) Set(ref object.Ref, cost int64, terms []string) Standing {
	e := l.entries[ref]
	g := l.groups[ref.Namespace]
	l.charge(g, e, false)
	slices.Sort(terms)
	e.cost, e.terms, e.measured = cost, slices.Compact(terms), true
	l.charge(g, e, true)
	l.fit(g, ref)
	l.lower(ref)
	return e.standing
}

// Remove removes an object, if it is known.
func (l *Ledger) Remove(ref object.Ref) {
	e := l.entries[ref]
	if e == nil {
		return
	}
	g := l.groups[ref.Namespace]
	l.charge(g, e, false)
	if g.next == e {
		if l.setNext(g, g.after(e)); g.next != nil {
			l.changed(g.next.ref)
		}
	}
	g.entries.Delete(e)
	delete(l.entries, ref)
	l.dirty[g.name] = true
	if g.entries.Len() == 0 {
		delete(l.groups, g.name)
	}
	l.fit(g, ref)
}

// Knows reports whether some object that is not Beyond has a term.
func (l *Ledger) Knows(term string) bool { return l.terms[term] != nil }

// Resize records that a term matches another number of endpoints.
func (l *Ledger) Resize(id string, endpoints int) {
	t := l.terms[id]
	if t == nil {
		return
	}
	by := int64(endpoints-t.endpoints) * matchWeight
	t.endpoints = endpoints
	affected := make([]*group, 0, len(t.users))
	for g, u := range t.users {
		affected = append(affected, g)
		if u.within > 0 {
			l.add(g, by)
		}
	}
	for _, g := range affected {
		l.fit(g, object.Ref{})
	}
	l.lower(object.Ref{})
}

// Report reports the groups whose objects do not all fit in, and takes back what no longer holds. Budget is the name under which
// it reports, and what is the plural of the objects.
func (l *Ledger) Report(problems *object.Problems, cluster, budget, what string) {
	for namespace, o := range l.overdrafts() {
		ref := object.Ref{Kind: "Budget", Namespace: namespace, Name: budget}
		var found []object.Problem
		if o != nil {
			found = []object.Problem{{Cluster: cluster, Ref: ref, Message: o.describe(what, cmp.Or(l.Group, "namespace"))}}
		}
		problems.Set(ref, found)
	}
}

// overdrafts returns the namespaces for which something changed since the last call: nil for those where all objects fit in.
func (l *Ledger) overdrafts() map[string]*overdraft {
	if len(l.dirty) == 0 {
		return nil
	}
	out := make(map[string]*overdraft, len(l.dirty))
	for name := range l.dirty {
		out[name] = nil
		if g := l.groups[name]; g != nil {
			if o, over := g.overdraft(); over {
				o.Limit, o.ByTotal = l.limit, l.limit < l.shares.Namespace
				out[name] = &o
			}
		}
	}
	clear(l.dirty)
	return out
}

// Len counts what the ledger keeps.
func (l *Ledger) Len() int { return len(l.entries) + len(l.groups) + len(l.terms) + l.short }

// charge adds the cost of an entry that is Within to what its group uses, or takes it off, and does likewise for who waits for
// the terms of one that is Next.
func (l *Ledger) charge(g *group, e *entry, on bool) {
	if !e.measured || e.standing == Beyond {
		return
	}
	by := 1
	if !on {
		by = -1
	}
	if e.standing == Within {
		l.add(g, e.cost*int64(by))
	}
	for _, id := range e.terms {
		t := l.terms[id]
		if t == nil {
			t = &term{endpoints: l.size(id), users: map[*group]use{}}
			l.terms[id] = t
		}
		was := t.users[g]
		is := was
		if e.standing == Next {
			is.next = on
		} else {
			is.within += by
		}
		switch {
		case was.within == 0 && is.within > 0:
			l.add(g, int64(t.endpoints)*matchWeight)
		case was.within > 0 && is.within == 0:
			l.add(g, -int64(t.endpoints)*matchWeight)
		}
		if t.users[g] = is; is == (use{}) {
			delete(t.users, g)
		}
		if len(t.users) == 0 {
			delete(l.terms, id)
		}
	}
}

func (l *Ledger) add(g *group, cost int64) {
	g.use += cost
	l.use += cost
	if g.next == nil {
		l.whole += cost
	}
	l.dirty[g.name] = true
}
