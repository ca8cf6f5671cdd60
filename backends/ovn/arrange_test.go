package ovn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
)

// idleOp is an op without an effect.
func idleOp(verb backends.Verb, table, unit string, n int) *op {
	return &op{verb: verb, table: table, name: fmt.Sprintf("%s-%d", unit, n), unit: unit}
}

// manyOps is n groups with two ACLs each, n address sets that come and n that go; the first group drops.
func manyOps(n int) []*op {
	var ops []*op
	for i := range n {
		ops = append(ops, idleOp(backends.Create, tableAddressSet, "", i))
	}
	for i := range n {
		for range 2 {
			acl := idleOp(backends.Create, tableACL, fmt.Sprintf("g%d", i), i)
			acl.after = backends.Fields{"action": "allow-related"}
			if i == 0 {
				acl.after["action"] = actionDrop
			}
			ops = append(ops, acl)
		}
	}
	for i := range n {
		ops = append(ops, idleOp(backends.Create, tablePortGroup, fmt.Sprintf("g%d", i), i))
	}
	for i := range n {
		ops = append(ops, idleOp(backends.Delete, tableAddressSet, "", n+i))
	}
	return ops
}

func TestArrangeKeepsASmallPlanWhole(t *testing.T) {
	ops := manyOps(maxGroup / 5)
	require.Len(t, ops, maxGroup)
	for _, op := range arrange(ops, true) {
		require.Zero(t, op.group)
	}
}

func TestArrangeSplitsALargePlan(t *testing.T) {
	const n = 2000
	for _, cold := range []bool{false, true} {
		t.Run(fmt.Sprintf("cold=%v", cold), func(t *testing.T) {
			ops := arrange(manyOps(n), cold)
			require.Len(t, ops, 5*n, "nothing is lost or doubled")
			sizes, unitIn := map[int]int{}, map[string]int{}
			last := 0
			for _, op := range ops {
				require.GreaterOrEqual(t, op.group, last, "groups ascend")
				require.LessOrEqual(t, op.group, last+1, "without gaps")
				last = op.group
				sizes[op.group]++
				if u := op.unit; u != "" {
					if in, ok := unitIn[u]; ok {
						require.Equal(t, in, op.group, "%s is torn apart", u)
					}
					unitIn[u] = op.group
				}
			}
			dropping := unitIn["g0"]
			for _, op := range ops {
				switch {
				case op.table == tableAddressSet && op.verb == backends.Create:
					require.Less(t, op.group, dropping, "what is referred to comes before")
				case op.table == tableAddressSet:
					require.Greater(t, op.group, dropping, "what was referred to goes after")
				case cold && op.unit != "g0":
					require.Less(t, op.group, dropping, "what only allows comes before what drops")
				default:
					require.Equal(t, dropping, op.group, "the rest is one transaction")
				}
			}
			for g, size := range sizes {
				if g != dropping {
					require.LessOrEqual(t, size, sideGroup+2, "transaction %d", g)
				}
			}
		})
	}
}

// TestArrangeKeepsACLsWithTheirGroup looks at a group alone that is larger than a portion.
func TestArrangeKeepsACLsWithTheirGroup(t *testing.T) {
	var ops []*op
	for range 3 * sideGroup {
		ops = append(ops, idleOp(backends.Create, tableACL, "big", 0))
	}
	for i := range maxGroup {
		ops = append(ops, idleOp(backends.Create, tablePortGroup, fmt.Sprintf("small%d", i), 0))
	}
	ops = append(ops, idleOp(backends.Create, tablePortGroup, "big", 0))
	in := map[int]bool{}
	for _, op := range arrange(ops, true) {
		if op.unit == "big" {
			in[op.group] = true
		}
	}
	require.Len(t, in, 1)
}
