package ovn

import (
	"cmp"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
)

// The maximum number of operations in one transaction, and in each of the transactions that a larger plan may begin and end with.
// Operations with many values count as several: a transaction takes memory here and time in the database in proportion to its size.
const (
	maxGroup  = 4000
	sideGroup = 1000
	// valuesOfOne is how many elements of sets and maps an operation that counts as one may have.
	valuesOfOne = 200
)

// arrange numbers the transactions of a plan. There is only one, unless the plan is large: then rows that nothing refers to yet are written
// before it, and rows that nothing refers to any more are deleted after it, in portions. The rest is one transaction: between two halves of
// a change, a connection could pass that neither the old nor the new state allows.
//
// Into a database without our rows (cold), groups that only allow are written in portions too: as long as nothing
// is dropped they have no effect. A group and its ACLs stay together, since the database removes ACLs that are in no
// group.
func arrange(ops []*nb.Op, cold bool) []*nb.Op {
	weight := 0
	for _, op := range ops {
		weight += weightOf(op)
	}
	if weight <= maxGroup {
		return ops
	}
	dropping := droppingUnits(ops)
	var before, whole, after []*nb.Op
	for _, op := range ops {
		switch {
		case alone(op.Table) && op.Verb == backends.Create:
			before = append(before, op)
		case alone(op.Table) && op.Verb == backends.Delete:
			after = append(after, op)
		case cold && !attaches(op) && !dropping[op.Unit]:
			before = append(before, op)
		default:
			whole = append(whole, op)
		}
	}
	slices.SortStableFunc(before, func(a, b *nb.Op) int { return cmp.Compare(a.Unit, b.Unit) })

	next := portion(before, 0)
	for i := range whole {
		whole[i].Group = next
	}
	if len(whole) > 0 {
		next++
	}
	portion(after, next)
	return slices.Concat(before, whole, after)
}

// portion numbers ops from first on, with a weight of sideGroup or a little more per transaction, and returns the next free number.
func portion(ops []*nb.Op, first int) int {
	if len(ops) == 0 {
		return first
	}
	used := 0
	for i := range ops {
		if used >= sideGroup && (ops[i].Unit == "" || ops[i].Unit != ops[i-1].Unit) {
			first++
			used = 0
		}
		used += weightOf(ops[i])
		ops[i].Group = first
	}
	return first + 1
}

// weightOf returns as how many operations op counts.
func weightOf(op *nb.Op) int {
	values := 0
	for _, columns := range []backends.Fields{op.Before, op.After} {
		for _, value := range columns {
			switch v := value.(type) {
			case []string:
				values += len(v)
			case map[string]string:
				values += len(v)
			}
		}
	}
	return 1 + values/valuesOfOne
}

// alone reports whether a row of the table has no effect, and needs no other row, before another refers to it.
func alone(table string) bool { return table == nb.TableAddressSet || table == nb.TableLoadBalancer }

// attaches reports whether an op makes load balancers take effect, or denies sources. Such ops are written together.
func attaches(op *nb.Op) bool {
	switch op.Table {
	case nb.TableLoadBalancerGroup, nb.TableTemplateVars, nb.TableSwitch, nb.TableRouter:
		return true
	default:
		return op.Table == nb.TableACL && op.Unit == ""
	}
}

// droppingUnits returns the port groups that ops give an ACL that drops: those that isolate, and those of policies that
// have drops logged.
func droppingUnits(ops []*nb.Op) map[string]bool {
	out := map[string]bool{}
	for _, op := range ops {
		if op.Table == nb.TableACL && op.After["action"] == nb.ActionDrop && op.Unit != "" {
			out[op.Unit] = true
		}
	}
	return out
}
