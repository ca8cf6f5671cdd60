package ovn

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/growth"
)

// TestRenderingGrowsWithTheRules renders one policy with as many subjects as rules, as named ports make them, and one whose
// rules are all the same, which share a row.
func TestRenderingGrowsWithTheRules(t *testing.T) {
	known := schemaOf(t, schema.NB2503())
	for _, tc := range []struct {
		name string
		rule func(i int) intent.Rule
		rows int // of 100 rules
	}{
		{"a subject for each rule", func(i int) intent.Rule {
			return intent.Rule{Subject: intent.SetID(fmt.Sprint("s", i)), Ports: intent.Ports{Any: true}}
		}, 100},
		{"equal rules", func(int) intent.Rule { return intent.Rule{Ports: intent.Ports{Any: true}} }, 1},
		{"a port for each rule", func(i int) intent.Rule {
			return intent.Rule{Ports: intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: uint16(i), Last: uint16(i)}}}}
		}, 100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			render := func(n int) (rows int, work func()) {
				p := &intent.Policy{ID: "p", Isolates: true, Subject: "s", Origin: intent.Origin{Kind: "NetworkPolicy", Name: "p"}}
				for i := range n {
					r := tc.rule(i)
					r.Action, r.Peer, r.Path = intent.Allow, intent.Peer{Kind: intent.PeerAny}, fmt.Sprintf("spec.ingress[%d]", i)
					p.Rules = append(p.Rules, r)
				}
				b := intent.NewSnapshot().Next()
				b.PutPolicy(p)
				want := b.Commit()
				return len(NewExplainer(known, Naming{Owner: "o"}).PolicyRows(want, p.Origin)), func() {
					r := &renderer{names: nb.NewNamer("o"), want: want, schema: known}
					newModel(portFinder{}).render(r)
				}
			}
			rows, _ := render(100)
			require.Equal(t, tc.rows, rows)
			growth.NearlyLinear(t, 1000, func(n int) func() {
				_, work := render(n)
				return work
			})
		})
	}
}

// TestAPlanGrowsWithWhatChanges plans many policies that come together, each with a subject of its own.
func TestAPlanGrowsWithWhatChanges(t *testing.T) {
	known := schemaOf(t, schema.NB2503())
	growth.NearlyLinear(t, 400, func(n int) func() {
		b := intent.NewSnapshot().Next()
		var change intent.Change
		for i := range n {
			p := &intent.Policy{ID: intent.PolicyID(fmt.Sprint("p", i)), Subject: intent.SetID(fmt.Sprint("s", i))}
			p.Rules = []intent.Rule{{Action: intent.Allow, Peer: intent.Peer{Kind: intent.PeerAny}, Ports: intent.Ports{Any: true}, Path: "spec.ingress[0]"}}
			b.PutPolicy(p)
			change.Policies = append(change.Policies, p.ID)
		}
		want := b.Commit()
		return func() {
			r := &renderer{names: nb.NewNamer("o"), want: want, schema: known}
			planPolicies(r, newModel(portFinder{}), []intent.Change{change}, nil)
		}
	})
}

// TestPoliciesWithoutRulesCostOthersNothing plans a change of a policy for pods that other policies without rules select: those that exceed a
// budget, of which there may be any number. Nothing is held for them.
func TestPoliciesWithoutRulesCostOthersNothing(t *testing.T) {
	known := schemaOf(t, schema.NB2503())
	growth.Constant(t, 2000, func(n int) func() {
		b := intent.NewSnapshot().Next()
		var last *intent.Policy
		for i := range n {
			name := fmt.Sprint("p", i)
			last = &intent.Policy{ID: intent.PolicyID(name), Isolates: true, Subject: "s", Origin: intent.Origin{Kind: "NetworkPolicy", Name: name}}
			b.PutPolicy(last)
		}
		m := newModel(portFinder{})
		r := &renderer{names: nb.NewNamer("o"), want: b.Commit(), schema: known}
		m.snapshot = r.want
		m.render(r)
		require.Nil(t, m.held("s"))
		return func() {
			require.Empty(t, planPolicies(r, m, []intent.Change{{Policies: []intent.PolicyID{last.ID}}}, nil).ops)
		}
	})
}

// TestTheLastPartOfASetCostsNoMoreThanThePart plans a policy whose peers were written ahead.
func TestTheLastPartOfASetCostsNoMoreThanThePart(t *testing.T) {
	known := schemaOf(t, schema.NB2503())
	const part = 500
	growth.Constant(t, 5000, func(n int) func() {
		set := &intent.Set{ID: "blocks"}
		for i := range n {
			set.Prefixes = append(set.Prefixes, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), 32))
		}
		next := intent.NewSnapshot().Next()
		next.SetAhead([]intent.Ahead{{Set: set, Ready: n - part}})
		was := next.Commit()
		m := newModel(portFinder{})
		m.snapshot, m.ahead = was, aheadsOf(was)
		next = was.Next()
		next.SetAhead(nil)
		next.CreateSet(set)
		p := &intent.Policy{ID: "p", Subject: "s", Origin: intent.Origin{Kind: "NetworkPolicy", Name: "p"}}
		p.Rules = []intent.Rule{{Action: intent.Allow, Path: "spec.ingress[0]", Peer: intent.Peer{Kind: intent.PeerSet, Set: set.ID}, Ports: intent.Ports{Any: true}}}
		next.PutPolicy(p)
		want := next.Commit()
		r := &renderer{names: nb.NewNamer("o"), want: want, schema: known}
		changes := want.ChangesFrom(was)
		return func() {
			plan := planPolicies(r, m, changes, nil)
			i := slices.IndexFunc(plan.ops, func(o *nb.Op) bool { return o.Table == nb.TableAddressSet })
			require.Len(t, plan.ops[i].After["addresses"], part)
		}
	})
}
