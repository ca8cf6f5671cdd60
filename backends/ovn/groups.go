package ovn

import (
	"cmp"
	"slices"

	"github.com/netloom/netloom/backends"
)

// The most operations that go into one transaction, and into each of those that a larger plan may begin and end with.
const (
	maxGroup  = 4000
	sideGroup = 1000
)

// arrange numbers the transactions of a plan. It is one, unless the plan is large: then rows that nothing refers to yet
// go before and rows that nothing refers to any more go after, in portions, and the rest is one transaction, because
// between two that each take half of a change a connection could pass that neither the old nor the new state allows.
//
// Into a database that holds nothing of ours (cold), groups that only allow are portioned too: as long as nothing is
// dropped they change nothing. A group and its ACLs stay together, for the database removes ACLs that no group holds.
func arrange(ops []*op, cold bool) []*op {
	if len(ops) <= maxGroup {
		return ops
	}
	dropping := droppingUnits(ops)
	var before, whole, after []*op
	for _, op := range ops {
		switch {
		case alone(op.table) && op.verb == backends.Create:
			before = append(before, op)
		case alone(op.table) && op.verb == backends.Delete:
			after = append(after, op)
		case cold && !attaches(op) && !dropping[op.unit]:
			before = append(before, op)
		default:
			whole = append(whole, op)
		}
	}
	slices.SortStableFunc(before, func(a, b *op) int { return cmp.Compare(a.unit, b.unit) })

	next := portion(before, 0)
	for i := range whole {
		whole[i].group = next
	}
	if len(whole) > 0 {
		next++
	}
	portion(after, next)
	return slices.Concat(before, whole, after)
}

// alone says whether a row of the table does nothing, and needs nothing, before another refers to it.
func alone(table string) bool { return table == tableAddressSet || table == tableBalancer }

// attaches says whether an op makes load balancers take effect, or keeps sources from them: that happens at once.
func attaches(op *op) bool {
	switch op.table {
	case tableBalancers, tableTemplateVars, tableSwitch, tableRouter:
		return true
	default:
		return op.table == tableACL && op.unit == ""
	}
}

// droppingUnits are the port groups that ops give an ACL that drops: those that isolate, and those of policies that have
// drops logged.
func droppingUnits(ops []*op) map[string]bool {
	out := map[string]bool{}
	for _, op := range ops {
		if op.table == tableACL && op.after["action"] == actionDrop && op.unit != "" {
			out[op.unit] = true
		}
	}
	return out
}

// portion numbers ops from first on, sideGroup or a little more to a transaction, and returns the next free number.
func portion(ops []*op, first int) int {
	if len(ops) == 0 {
		return first
	}
	used := 0
	for i := range ops {
		if used >= sideGroup && (ops[i].unit == "" || ops[i].unit != ops[i-1].unit) {
			first++
			used = 0
		}
		used++
		ops[i].group = first
	}
	return first + 1
}
