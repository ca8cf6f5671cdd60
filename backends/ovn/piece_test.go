package ovn

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/seeds"
)

// crowd is many policies for the same pods, in a snapshot and in the model of a target that has it.
type crowd struct {
	known ovsdb.Schema
	want  *intent.Snapshot
	m     *model
}

func newCrowd(known ovsdb.Schema, n int) *crowd {
	b := intent.NewSnapshot().Next()
	b.CreateSet(&intent.Set{ID: "s"})
	for i := range n {
		b.PutPolicy(member(i, i))
	}
	c := &crowd{known: known, want: b.Commit(), m: newModel(portFinder{})}
	c.m.snapshot = c.want
	c.m.render(c.renderer())
	return c
}

// member is the i-th policy, which allows a port.
func member(i, port int) *intent.Policy {
	name := fmt.Sprint("p", i)
	ports := intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: uint16(port), Last: uint16(port)}}}
	return &intent.Policy{
		ID: intent.PolicyID(name), Subject: "s", Origin: intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: name}, Created: int64(i * 7 % 13),
		Rules: []intent.Rule{{Action: intent.Allow, Peer: intent.Peer{Kind: intent.PeerAny}, Ports: ports, Path: "spec.ingress[0]"}},
	}
}

func (c *crowd) renderer() *renderer {
	return &renderer{names: nb.NewNamer("o"), want: c.want, schema: c.known}
}

// change puts a policy, or drops that of an ID if it is nil, and plans it.
func (c *crowd) change(id intent.PolicyID, p *intent.Policy) *policyPlan {
	was := c.want
	b := was.Next()
	if p != nil {
		b.PutPolicy(p)
	} else {
		b.DropPolicy(id)
	}
	c.want = b.Commit()
	return planPolicies(c.renderer(), c.m, c.want.ChangesFrom(was), nil)
}

// TestOneOfManyPoliciesRendersItselfOnly edits a policy for pods that many others select. None of these is rendered again.
func TestOneOfManyPoliciesRendersItselfOnly(t *testing.T) {
	const n = 200
	c := newCrowd(schemaOf(t, schema.NB2503()), n)
	require.Len(t, c.m.groups["s"].pieces, n)
	plan := c.change("p7", member(7, 9000))
	require.Len(t, plan.ops, 3, "an ACL that comes, one that goes, and the references to them: %v", plan.ops)
	require.Equal(t, []intent.PolicyID{"p7"}, slices.Collect(maps.Keys(plan.groups["s"].put)))
	require.Len(t, plan.groups["s"].users, 2, "no ACL of another one is looked at")
	plan.commit()
	require.Len(t, c.m.groups["s"].pieces, n)
}

// TestOneOfManyPoliciesCostsWhatItHas plans the same beside ever more policies, whose rules are different or the same, and commits it.
func TestOneOfManyPoliciesCostsWhatItHas(t *testing.T) {
	known := schemaOf(t, schema.NB2503())
	for name, port := range map[string]int{"another rule": 0, "the rule of another one": 8} {
		t.Run(name, func(t *testing.T) {
			growth.Constant(t, 2000, func(n int) func() {
				c, i := newCrowd(known, n), 0
				return func() {
					i++
					c.change("p7", member(7, cmp.Or(port, 20_000)+i%2)).commit()
				}
			})
		})
	}
}

// TestOneOfManyEqualPoliciesIsNotedAlone adds a policy to many that have the same rule, and removes it again.
func TestOneOfManyEqualPoliciesIsNotedAlone(t *testing.T) {
	c := newCrowd(schemaOf(t, schema.NB2503()), 0)
	for i := range 50 {
		c.change(intent.PolicyID(fmt.Sprint("p", i)), member(i, 1)).commit()
	}
	for _, p := range []*intent.Policy{member(50, 1), nil} {
		plan := c.change("p50", p)
		require.Len(t, plan.ops, 1)
		plan.commit()
		changed := plan.ops[0].After
		if p == nil {
			changed = plan.ops[0].Before
		}
		require.Len(t, changed["external_ids"], 1)
		require.Contains(t, changed["external_ids"], "p50")
	}
}

// TestPiecesAreWhatAFreshGroupHas lets policies for the same pods come, change and go, some of them with equal rules, and compares the group
// after each plan with one that is rendered as a whole.
func TestPiecesAreWhatAFreshGroupHas(t *testing.T) {
	seeds.Each(t, "pieces", compareGroups)
}

func compareGroups(t *testing.T, seed uint64) {
	c, random := newCrowd(schemaOf(t, schema.NB2503()), 2), rand.New(rand.NewPCG(seed, 0))
	shared := 0
	for range 500 {
		i := random.IntN(6)
		p := member(i, random.IntN(4))
		switch random.IntN(5) {
		case 0:
			p = nil
		case 4:
			p.Tier, p.Priority = intent.TierAdmin, uint16(random.IntN(2))
			p.Rules[0].Action = []intent.Action{intent.Allow, intent.Deny}[random.IntN(2)]
		case 1:
			p.Rules[0].Action = intent.Deny
		case 2:
			p.Isolates, p.Log.Deny, p.Log.Rate = true, intent.SeverityInfo, uint32(random.IntN(2))
		}
		plan := c.change(intent.PolicyID(fmt.Sprint("p", i)), p)
		plan.commit()
		fresh := newModel(portFinder{})
		fresh.render(c.renderer())
		have, want := c.m.groups["s"], fresh.groups["s"]
		if want == nil {
			require.Nil(t, have)
			continue
		}
		require.Equal(t, want.acls, have.acls)
		require.Equal(t, want.peers, have.peers)
		require.Equal(t, want.meters, have.meters)
		require.True(t, maps.Equal(want.dependent, have.dependent))
		require.Equal(t, fresh.notes, c.m.notes)
		require.Equal(t, fresh.size(), c.m.size())
		shared += len(fresh.notes["shop"])
	}
	require.Greater(t, shared, 100, "too few policies have equal rules")
}

// BenchmarkOneOfManyPolicies edits one of many policies for the same pods.
func BenchmarkOneOfManyPolicies(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			c := newCrowd(schemaOf(b, schema.NB2503()), n)
			for i := 0; b.Loop(); i++ {
				c.change("p7", member(7, 20_000+i%2)).commit()
			}
		})
	}
}
