package ovn

import (
	"fmt"
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
					m, r := newModel(portFinder{}), &renderer{names: nb.NewNamer("o"), want: want, schema: known}
					m.putPolicy(p.ID, p)
					for _, s := range subjectsOf(p) {
						r.group(s, m.policiesOf(s, r, map[intent.PolicyID]bool{p.ID: true}, []*intent.Policy{p}))
					}
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
