package ovn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
)

// idleOp is an op without an effect.
func idleOp(verb backends.Verb, table, unit string, n int) *nb.Op {
	return &nb.Op{Verb: verb, Table: table, Name: fmt.Sprintf("%s-%d", unit, n), Unit: unit}
}

// manyOps is n groups with two ACLs each, n address sets that come and n that go; the first group drops.
func manyOps(n int) []*nb.Op {
	var ops []*nb.Op
	for i := range n {
		ops = append(ops, idleOp(backends.Create, nb.TableAddressSet, "", i))
	}
	for i := range n {
		for range 2 {
			acl := idleOp(backends.Create, nb.TableACL, fmt.Sprintf("g%d", i), i)
			acl.After = backends.Fields{"action": "allow-related"}
			if i == 0 {
				acl.After["action"] = nb.ActionDrop
			}
			ops = append(ops, acl)
		}
	}
	for i := range n {
		ops = append(ops, idleOp(backends.Create, nb.TablePortGroup, fmt.Sprintf("g%d", i), i))
	}
	for i := range n {
		ops = append(ops, idleOp(backends.Delete, nb.TableAddressSet, "", n+i))
	}
	return ops
}

func TestArrangeKeepsASmallPlanWhole(t *testing.T) {
	ops := manyOps(maxGroup / 5)
	require.Len(t, ops, maxGroup)
	for _, op := range arrange(ops, true) {
		require.Zero(t, op.Group)
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
				require.GreaterOrEqual(t, op.Group, last, "groups ascend")
				require.LessOrEqual(t, op.Group, last+1, "without gaps")
				last = op.Group
				sizes[op.Group]++
				if u := op.Unit; u != "" {
					if in, ok := unitIn[u]; ok {
						require.Equal(t, in, op.Group, "%s is torn apart", u)
					}
					unitIn[u] = op.Group
				}
			}
			dropping := unitIn["g0"]
			for _, op := range ops {
				switch {
				case op.Table == nb.TableAddressSet && op.Verb == backends.Create:
					require.Less(t, op.Group, dropping, "what is referred to comes before")
				case op.Table == nb.TableAddressSet:
					require.Greater(t, op.Group, dropping, "what was referred to goes after")
				case cold && op.Unit != "g0":
					require.Less(t, op.Group, dropping, "what only allows comes before what drops")
				default:
					require.Equal(t, dropping, op.Group, "the rest is one transaction")
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
	var ops []*nb.Op
	for range 3 * sideGroup {
		ops = append(ops, idleOp(backends.Create, nb.TableACL, "big", 0))
	}
	for i := range maxGroup {
		ops = append(ops, idleOp(backends.Create, nb.TablePortGroup, fmt.Sprintf("small%d", i), 0))
	}
	ops = append(ops, idleOp(backends.Create, nb.TablePortGroup, "big", 0))
	in := map[int]bool{}
	for _, op := range arrange(ops, true) {
		if op.Unit == "big" {
			in[op.Group] = true
		}
	}
	require.Len(t, in, 1)
}

// TestArrangeCountsValues looks at few operations with many values.
func TestArrangeCountsValues(t *testing.T) {
	values := make([]string, maxGroup*valuesOfOne/100)
	var ops []*nb.Op
	for i := range 110 {
		op := idleOp(backends.Create, nb.TableAddressSet, "", i)
		op.After = backends.Fields{"addresses": values}
		ops = append(ops, op)
	}
	sizes := map[int]int{}
	for _, op := range arrange(ops, true) {
		sizes[op.Group]++
	}
	require.Len(t, sizes, 5)
	require.Equal(t, 25, sizes[0])
}
