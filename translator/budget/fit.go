package budget

import (
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// Settle gives each group the limit that the total allows, once what has changed is translated. It has to be repeated until it
// changes the standing of no object.
func (l *Ledger) Settle() {
	l.relimit(l.level(), object.Ref{})
}

// lower lowers the limit of all groups as soon as they use more than the total, somewhat more than necessary, so that this
// remains rare; Settle corrects it.
func (l *Ledger) lower(except object.Ref) {
	if l.use > l.shares.Total {
		l.relimit(l.level()/8*7, except)
	}
}

func (l *Ledger) relimit(limit int64, except object.Ref) {
	if limit == l.limit {
		return
	}
	l.limit = limit
	for _, g := range l.groups {
		if g.next != nil {
			l.dirty[g.name] = true
		}
		l.fit(g, except)
	}
}

// level returns the limit of a group with which all together stay within the total. A group with objects that do not fit in may
// want any amount.
func (l *Ledger) level() int64 {
	most := min(l.shares.Namespace, l.shares.Total)
	if l.whole+int64(l.short)*most <= l.shares.Total {
		return most
	}
	var uses []int64
	for _, g := range l.groups {
		if g.next == nil {
			uses = append(uses, g.use)
		}
	}
	slices.Sort(uses)
	left, sharers := l.shares.Total, int64(len(uses)+l.short)
	for _, use := range uses {
		if use > left/sharers {
			break
		}
		left -= use
		if sharers--; sharers == 0 {
			return most
		}
	}
	return min(most, left/sharers)
}

// fit moves the border between the objects of a group that are Within and the others.
func (l *Ledger) fit(g *group, except object.Ref) {
	for {
		switch {
		case g.use > l.limit && l.evict(g, except):
		case g.next != nil && g.next.measured && g.use+l.wants(g) <= l.limit:
			l.admit(g, except)
		default:
			return
		}
	}
}

// evict makes the newest entry that is Within the next one. It returns false if there is none.
func (l *Ledger) evict(g *group, except object.Ref) bool {
	e := g.newest()
	if e == nil {
		return false
	}
	l.charge(g, e, false)
	if was := g.next; was != nil {
		l.charge(g, was, false)
		was.standing, was.measured, was.terms = Beyond, false, nil
		l.report(was, except)
	}
	l.setNext(g, e)
	l.charge(g, e, true)
	l.report(e, except)
	return true
}

// admit makes the entry that is Next one that is Within.
func (l *Ledger) admit(g *group, except object.Ref) {
	e := g.next
	l.charge(g, e, false)
	e.standing = Within
	l.setNext(g, g.after(e))
	l.charge(g, e, true)
	l.report(e, except)
	if g.next != nil {
		l.changed(g.next.ref)
	}
}

// setNext makes an entry of a group the one that is Next; nil is none.
func (l *Ledger) setNext(g *group, e *entry) {
	switch {
	case g.next == nil && e != nil:
		l.whole -= g.use
		l.short++
	case g.next != nil && e == nil:
		l.whole += g.use
		l.short--
	}
	g.next = e
	if e != nil {
		e.standing = Next
	}
	l.dirty[g.name] = true
}

// wants returns what the entry that is Next would cost its group.
func (l *Ledger) wants(g *group) int64 {
	cost := g.next.cost
	for _, id := range g.next.terms {
		if t := l.terms[id]; t.users[g].within == 0 {
			cost += int64(t.endpoints) * matchWeight
		}
	}
	return cost
}

func (l *Ledger) report(e *entry, except object.Ref) {
	if e.ref != except {
		l.changed(e.ref)
	}
}
