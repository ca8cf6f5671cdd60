package ovn

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/seeds"
)

// TestGroupsAreWhatAFreshModelHas lets policies of all tiers, of several clusters and namespaces, come, change and go, with rules that are equal, shared,
// logged, for other subjects or without a match. After each plan, some of which are made twice and applied once, the model is compared with one that
// renders everything.
func TestGroupsAreWhatAFreshModelHas(t *testing.T) {
	seeds.Each(t, "groups", func(t *testing.T, seed uint64) {
		b := intent.NewSnapshot().Next()
		for _, id := range []intent.SetID{"s", "t", "u", "shared1", "shared2"} {
			b.CreateSet(&intent.Set{ID: id})
		}
		known := schemaOf(t, schema.NB2503())
		if seed%3 == 0 {
			known = schemaOf(t, schema.NB2303())
		}
		c := &crowd{known: known, want: b.Commit(), m: newModel(portFinder{})}
		c.m.snapshot = c.want
		c.m.render(c.renderer())
		g := &policyMaker{rand.New(rand.NewPCG(seed, 1))}
		for step := range 60 {
			was := c.want
			b := was.Next()
			for range 1 + g.random.IntN(3) {
				if p := g.policy(g.random.IntN(12)); g.random.IntN(3) == 0 {
					b.DropPolicy(p.ID)
				} else {
					b.PutPolicy(p)
				}
			}
			c.want = b.Commit()
			plan := planPolicies(c.renderer(), c.m, c.want.ChangesFrom(was), nil)
			if g.random.IntN(4) == 0 {
				plan = planPolicies(c.renderer(), c.m, c.want.ChangesFrom(was), nil)
			}
			plan.commit()
			c.requireFresh(t, step)
		}
	})
}

// requireFresh compares the model with one that renders everything.
func (c *crowd) requireFresh(t *testing.T, step int) {
	t.Helper()
	fresh := newModel(portFinder{})
	fresh.render(c.renderer())
	require.Equal(t, fresh.notes, c.m.notes, "step %d", step)
	require.Equal(t, fresh.size(), c.m.size(), "step %d", step)
	require.Equal(t, fresh.peers, c.m.peers, "step %d", step)
	require.Equal(t, fresh.meters, c.m.meters, "step %d", step)
	require.Len(t, c.m.groups, len(fresh.groups), "step %d", step)
	require.Len(t, c.m.emptyGroups, len(fresh.emptyGroups), "step %d", step)
	for id, want := range fresh.groups {
		have := c.m.groups[id]
		require.NotNil(t, have, "step %d: %s", step, id)
		require.Len(t, have.acls, len(want.acls), "step %d: %s", step, id)
		for uuid, acl := range want.acls {
			require.NotNil(t, have.acls[uuid], "step %d: %s", step, id)
			require.Equal(t, acl.Fields, have.acls[uuid].Fields, "step %d: %s", step, id)
		}
		require.Equal(t, want.peers, have.peers, "step %d: %s", step, id)
		require.Equal(t, want.meters, have.meters, "step %d: %s", step, id)
		require.True(t, maps.Equal(want.dependent, have.dependent), "step %d: %s", step, id)
		require.True(t, maps.Equal(want.sharers, have.sharers), "step %d: %s", step, id)
		require.Len(t, have.pieces, len(want.pieces), "step %d: %s", step, id)
	}
}

// policyMaker makes random policies.
type policyMaker struct{ random *rand.Rand }

// namespacedPolicies is how many of the policies are NetworkPolicies; the others are cluster-wide.
const namespacedPolicies = 6

// policy returns the i-th policy.
func (g *policyMaker) policy(i int) *intent.Policy {
	o := intent.Origin{Kind: "NetworkPolicy", Namespace: []string{"shop", "bar"}[i%2], Name: fmt.Sprint("p", i)}
	if i >= namespacedPolicies {
		o = intent.Origin{Kind: "AdminNetworkPolicy", Name: fmt.Sprint("p", i)}
	}
	if i%3 == 0 {
		o.Cluster = "east"
	}
	p := &intent.Policy{ID: intent.NewPolicyID(o, intent.Ingress), Origin: o, Subject: g.subject(), Created: int64(g.random.IntN(3))}
	if g.random.IntN(4) == 0 {
		p.Log.Allow, p.Log.Rate = intent.SeverityInfo, uint32(g.random.IntN(2))
	}
	switch {
	case i < namespacedPolicies:
		p.Isolates = true
		if g.random.IntN(3) == 0 {
			p.Log.Deny = intent.SeverityInfo
		}
	default:
		p.Tier, p.Priority = []intent.Tier{intent.TierAdmin, intent.TierAdmin, intent.TierBaseline}[g.random.IntN(3)], uint16(g.random.IntN(2))
	}
	for k := range g.random.IntN(4) {
		p.Rules = append(p.Rules, g.rule(k, i >= namespacedPolicies))
	}
	return p
}

func (g *policyMaker) subject() intent.SetID { return []intent.SetID{"s", "t"}[g.random.IntN(2)] }

// rule returns the k-th rule of a policy.
func (g *policyMaker) rule(k int, clusterWide bool) intent.Rule {
	port := uint16(1 + g.random.IntN(2))
	r := intent.Rule{
		Path: fmt.Sprintf("spec.ingress[%d]", k), Action: intent.Allow, Peer: intent.Peer{Kind: intent.PeerSet, Set: "u"},
		Ports: intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: port, Last: port}}},
	}
	if g.random.IntN(2) == 0 {
		r.Peer = intent.Peer{Kind: intent.PeerAny}
	}
	if clusterWide {
		r.Action = []intent.Action{intent.Allow, intent.Deny, intent.Pass}[g.random.IntN(3)]
	} else if g.random.IntN(6) == 0 {
		r.Action = intent.Deny
	}
	if g.random.IntN(3) == 0 {
		r.Subject = g.subject()
	}
	if !clusterWide && r.Action == intent.Allow && r.Subject == "" && g.random.IntN(2) == 0 {
		r.Peer = intent.Peer{Kind: intent.PeerSet, Set: "u"}
		r.Parts = []intent.Part{{Shared: intent.SetID(fmt.Sprint("shared", port)), Peer: r.Peer}}
		if g.random.IntN(2) == 0 {
			r.Parts = append(r.Parts, intent.Part{Peer: intent.Peer{Kind: intent.PeerAny}})
		}
	}
	if g.random.IntN(12) == 0 {
		r.Ports.Ranges[0].Protocol = intent.ICMP // which has no match
	}
	return r
}
