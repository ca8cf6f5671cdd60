package memory

import (
	"cmp"
	"maps"
	"net/netip"
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

// mutable lists the fields of a set that are written by adding and removing values.
func mutable() [2]string { return [...]string{"addresses", "members"} }

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

// change rewrites the fields of have that are not as in want. Where only members of a set differ it is a Mutate.
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
	if want.Kind == kindSet && onlyMutable(op) {
		return mutate(want.Name, lists(op.Before), lists(op.After)), true
	}
	return op, true
}

// onlyMutable says whether an update speaks of nothing but whole fields that can be mutated.
func onlyMutable(op backends.Op) bool {
	for f := range op.After {
		fields := mutable()
		if _, replaced := op.Before[f].([]string); !replaced || !slices.Contains(fields[:], f) {
			return false
		}
	}
	return len(op.Before) == len(op.After)
}

func lists(fields backends.Fields) map[string][]string {
	m := make(map[string][]string)
	for f, v := range fields {
		m[f], _ = v.([]string)
	}
	return m
}

// mutate is the op that takes the values of before out of a set and puts those of after in. What is in both stays.
func mutate(name string, before, after map[string][]string) backends.Op {
	op := backends.Op{
		Verb: backends.Mutate, Kind: kindSet, Name: name, Group: groupSwitch,
		Before: backends.Fields{}, After: backends.Fields{},
	}
	for _, f := range mutable() {
		if gone := edit(before[f], after[f], nil); len(gone) > 0 {
			op.Before[f] = gone
		}
		if come := edit(after[f], before[f], nil); len(come) > 0 {
			op.After[f] = come
		}
	}
	return op
}

// tally adds up what several changes did to the values of one field. A value that went and came back did nothing.
type tally map[string]bool // true came, false went

func (t tally) note(value string, came bool) {
	if before, seen := t[value]; seen && before != came {
		delete(t, value)
		return
	}
	t[value] = came
}

// lists splits t into what went and what came, each sorted.
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
type churn struct{ members, addresses tally }

func newChurn() *churn { return &churn{members: make(tally), addresses: make(tally)} }

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
}

// op is the Mutate that does what c holds, false when that is nothing.
func (c *churn) op(set intent.SetID) (backends.Op, bool) {
	before, after := make(map[string][]string), make(map[string][]string)
	before["addresses"], after["addresses"] = c.addresses.lists()
	before["members"], after["members"] = c.members.lists()
	op := mutate(setName(set), before, after)
	return op, len(op.Before)+len(op.After) > 0
}

// order sorts ops by group, kind and name.
func order(ops []backends.Op) []backends.Op {
	slices.SortFunc(ops, func(a, b backends.Op) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), compareIDs(id{a.Kind, a.Name}, id{b.Kind, b.Name}))
	})
	return ops
}

// index is rows by kind and name.
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
