package ovn

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/seeds"
)

// crowdOf is many policies for the same pods, in a snapshot and in the model of a target that has it.
type crowdOf struct {
	known ovsdb.Schema
	want  *intent.Snapshot
	m     *model
}

func newCrowd(known ovsdb.Schema, n int) *crowdOf {
	b := intent.NewSnapshot().Next()
	b.CreateSet(&intent.Set{ID: "s"})
	for i := range n {
		b.PutPolicy(member(i, i))
	}
	c := &crowdOf{known: known, want: b.Commit(), m: newModel(portFinder{})}
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

func (c *crowdOf) renderer() *renderer {
	return &renderer{names: nb.NewNamer("o"), want: c.want, schema: c.known}
}

// change puts a policy, or drops that of an ID if it is nil, and plans it.
func (c *crowdOf) change(id intent.PolicyID, p *intent.Policy) *policyPlan {
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
	before := c.m.groups["s"]
	require.Len(t, before.pieces, n)
	plan := c.change("p7", member(7, 9000))
	after := plan.groups["s"]
	require.Len(t, plan.ops, 3, "an ACL that comes, one that goes, and the references to them: %v", plan.ops)
	require.Len(t, after.pieces, n)
	rendered := 0
	for p, piece := range after.pieces {
		if before.pieces[p] != piece {
			require.Equal(t, intent.PolicyID("p7"), p.ID)
			rendered++
		}
	}
	require.Equal(t, 1, rendered)
}

// TestPiecesAreWhatAFreshGroupHas lets policies for the same pods come, change and go, some of them with equal rules, and compares the group
// after each plan with one that is rendered as a whole.
func TestPiecesAreWhatAFreshGroupHas(t *testing.T) {
	seeds.Each(t, "pieces", comparePieces)
}

func comparePieces(t *testing.T, seed uint64) {
	c, random := newCrowd(schemaOf(t, schema.NB2503()), 2), rand.New(rand.NewPCG(seed, 0))
	shared := 0
	for range 500 {
		i := random.IntN(6)
		p := member(i, random.IntN(4))
		switch random.IntN(4) {
		case 0:
			p = nil
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
		require.Equal(t, want.also, have.also)
		require.Equal(t, want.meters, have.meters)
		shared += len(want.also)
	}
	require.Greater(t, shared, 100, "too few policies have equal rules")
}

// BenchmarkOneOfManyPolicies edits one of many policies for the same pods, with the pieces of the others and without.
func BenchmarkOneOfManyPolicies(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		for _, pieces := range []bool{false, true} {
			b.Run(fmt.Sprintf("n=%d/pieces=%v", n, pieces), func(b *testing.B) {
				c := newCrowd(schemaOf(b, schema.NB2503()), n)
				for i := 0; b.Loop(); i++ {
					if !pieces {
						c.m.groups["s"].pieces = nil
					}
					c.change("p7", member(7, 20_000+i%2)).commit()
				}
			})
		}
	}
}
