package memory

import (
	"cmp"
	"maps"
	"net/netip"
	"reflect"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// The groups of a plan, in the order in which they are applied.
const (
	groupPrepare = iota // sets that no row names yet
	groupSwitch         // everything that changes a verdict
	groupSweep          // sets that no row names any more
)

// mutable lists the fields of a kind of row that are written by adding and removing values.
func mutable(kind string) []string {
	switch kind {
	case kindSet:
		return []string{"addresses", "members", "prefixes"}
	case kindBalancer:
		return []string{"vips"}
	default:
		return nil
	}
}

// diff lists the ops that turn actual into desired. Live holds the names of the sets that actual rows name.
func diff(desired, actual map[id]Row, live map[string]bool) []backends.Op {
	var ops []backends.Op
	for k, want := range desired {
		have, exists := actual[k]
		if !exists {
			ops = append(ops, create(want, live))
		} else if op, differs := change(have, want); differs {
			ops = append(ops, op)
		}
	}
	for k, have := range actual {
		if _, wanted := desired[k]; !wanted {
			ops = append(ops, remove(have))
		}
	}
	return order(ops)
}

func create(want Row, live map[string]bool) backends.Op {
	op := backends.Op{
		Verb: backends.Create, Kind: want.Kind, Name: want.Name, Group: groupSwitch,
		After: want.Fields, Origin: want.text("origin"),
	}
	if want.Kind == kindSet && !live[want.Name] {
		op.Group = groupPrepare
	}
	return op
}

func remove(have Row) backends.Op {
	op := backends.Op{
		Verb: backends.Delete, Kind: have.Kind, Name: have.Name, Group: groupSwitch,
		Before: have.Fields, Origin: have.text("origin"),
	}
	if have.Kind == kindSet {
		op.Group = groupSweep
	}
	return op
}

// change rewrites the fields of have that are not as in want. If only members of a set or entries for a VIP differ, the
// op is a Mutate.
func change(have, want Row) (backends.Op, bool) {
	op := backends.Op{
		Verb: backends.Update, Kind: want.Kind, Name: want.Name, Group: groupSwitch,
		Before: backends.Fields{}, After: backends.Fields{}, Origin: want.text("origin"),
	}
	for f, v := range want.Fields {
		old, exists := have.Fields[f]
		if exists && equal(old, v) {
			continue
		}
		op.After[f] = v
		if exists {
			op.Before[f] = old
		}
	}
	for f, old := range have.Fields {
		if _, wanted := want.Fields[f]; !wanted {
			op.Before[f] = old
		}
	}
	if len(op.Before)+len(op.After) == 0 {
		return op, false
	}
	if onlyMutable(op) {
		return mutate(op), true
	}
	return op, true
}

// onlyMutable reports whether an update changes nothing but fields that can be mutated.
func onlyMutable(op backends.Op) bool {
	for f, v := range op.After {
		if !slices.Contains(mutable(op.Kind), f) || reflect.TypeOf(op.Before[f]) != reflect.TypeOf(v) {
			return false
		}
	}
	return len(op.Before) == len(op.After)
}

// mutate returns an update of whole fields as an op that removes the values of Before and adds those of After. Values
// in both stay.
func mutate(op backends.Op) backends.Op {
	before, after := op.Before, op.After
	op.Verb, op.Before, op.After = backends.Mutate, backends.Fields{}, backends.Fields{}
	for _, f := range mutable(op.Kind) {
		switch old := before[f].(type) {
		case []string:
			next, _ := after[f].([]string)
			if gone := edit(old, next, nil); len(gone) > 0 {
				op.Before[f] = gone
			}
			if come := edit(next, old, nil); len(come) > 0 {
				op.After[f] = come
			}
		case map[string]string:
			next, _ := after[f].(map[string]string)
			if gone := without(old, next); len(gone) > 0 {
				op.Before[f] = gone
			}
			if come := without(next, old); len(come) > 0 {
				op.After[f] = come
			}
		}
	}
	return op
}

// without returns the entries of m that are not in o.
func without(m, o map[string]string) map[string]string {
	rest := maps.Clone(m)
	maps.DeleteFunc(rest, func(k, v string) bool {
		other, ok := o[k]
		return ok && other == v
	})
	return rest
}

// tally adds up what several changes did to the values of one field. A value that was removed and added back has no effect.
type tally map[string]bool // true is added, false removed

func (t tally) note(value string, came bool) {
	if before, seen := t[value]; seen && before != came {
		delete(t, value)
		return
	}
	t[value] = came
}

// lists splits t into what was removed and what was added, each sorted.
func (t tally) lists() (gone, come []string) {
	for v, came := range t {
		if came {
			come = append(come, v)
		} else {
			gone = append(gone, v)
		}
	}
	slices.Sort(gone)
	slices.Sort(come)
	return gone, come
}

// churn is what happened to the members of one set over several changes.
type churn struct{ members, addresses, prefixes tally }

func newChurn() *churn {
	return &churn{members: make(tally), addresses: make(tally), prefixes: make(tally)}
}

func (c *churn) add(d intent.SetDelta) {
	for _, e := range d.Left {
		c.members.note(e.Key.String(), false)
	}
	for _, e := range d.Joined {
		c.members.note(e.Key.String(), true)
	}
	note := func(addrs []netip.Addr, came bool) {
		for _, a := range addrs {
			c.addresses.note(a.String(), came)
		}
	}
	note(d.AddrsRemoved, false)
	note(d.AddrsAdded, true)
	for _, p := range d.PrefixesRemoved {
		c.prefixes.note(p.String(), false)
	}
	for _, p := range d.PrefixesAdded {
		c.prefixes.note(p.String(), true)
	}
}

// op returns the Mutate for what c holds, false if that is nothing.
func (c *churn) op(set intent.SetID) (backends.Op, bool) {
	op := backends.Op{
		Verb: backends.Mutate, Kind: kindSet, Name: setName(set), Group: groupSwitch,
		Before: backends.Fields{}, After: backends.Fields{},
	}
	for f, t := range map[string]tally{"addresses": c.addresses, "members": c.members, "prefixes": c.prefixes} {
		gone, come := t.lists()
		if len(gone) > 0 {
			op.Before[f] = gone
		}
		if len(come) > 0 {
			op.After[f] = come
		}
	}
	return op, len(op.Before)+len(op.After) > 0
}

// order sorts ops by group, kind and name.
func order(ops []backends.Op) []backends.Op {
	slices.SortFunc(ops, func(a, b backends.Op) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), compareIDs(id{a.Kind, a.Name}, id{b.Kind, b.Name}))
	})
	return ops
}

// index returns rows by kind and name.
func index(rows ...[]Row) map[id]Row {
	m := make(map[id]Row)
	for _, list := range rows {
		for _, r := range list {
			m[r.id()] = r
		}
	}
	return m
}

// merge adds the rows of from to into.
func merge(into, from map[id]Row) { maps.Copy(into, from) }
