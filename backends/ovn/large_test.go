package ovn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// crowdSize is how many pods there are in a large state.
const crowdSize = 30

// large is a state of more than 4000 rows: policies that refuse and log, and policies that admit "web" to a port each,
// every one with a subject and, where they admit, a peer of its own. Shift has other sets and policies than shift 0.
func large(policies, shift int) *backendtest.State {
	s := &backendtest.State{Endpoints: []intent.Endpoint{pod("w", 200)}}
	web := []object.Key{s.Endpoints[0].Key}
	for i := range crowdSize {
		s.Endpoints = append(s.Endpoints, pod(fmt.Sprintf("p%d", i), i+1))
	}
	for i := range policies {
		n := i + shift
		keys := []object.Key{s.Endpoints[1+n/2%crowdSize].Key}
		subject, peer := intent.SetID(fmt.Sprintf("subject-%d", n)), intent.SetID(fmt.Sprintf("web-%d", n))
		s.Sets = append(s.Sets, backendtest.SetSpec{ID: subject, Keys: keys})
		p := admit(fmt.Sprintf("np-%d", n), subject, peer, uint16(5000+n/2/crowdSize))
		if n%2 == 0 {
			p.Rules, p.Log.Deny = nil, intent.SeverityInfo
		} else {
			s.Sets = append(s.Sets, backendtest.SetSpec{ID: peer, Keys: web})
		}
		s.Policies = append(s.Policies, p)
	}
	return s
}

// crossings are flows from web to every pod, to ports that some policy admits and to one that none does.
func crossings(s *backendtest.State) []intent.Flow {
	party := func(e intent.Endpoint) intent.Party { return intent.Party{Key: e.Key, Addr: e.Addrs[0]} }
	var flows []intent.Flow
	for _, e := range s.Endpoints[1:] {
		for _, port := range []uint16{5002, 5011, 5020, 5029, 80} {
			flows = append(flows, intent.Flow{Src: party(s.Endpoints[0]), Dst: party(e), Protocol: intent.TCP, Port: port})
		}
	}
	return flows
}

// TestLargePlan brings a database through plans of several transactions and looks at it after each of them.
func TestLargePlan(t *testing.T) {
	target := ovntest.New(t, schema.NB2503())
	b := target.Open(t, "a")
	first, second := large(2000, 0), large(2000, 1001)
	target.Prepare(t, first.Endpoints, nil)
	was := intent.NewSnapshot()
	for _, step := range []struct {
		name  string
		state *backendtest.State
		full  bool
	}{
		{"into an empty database", first, true},
		{"from one state to quite another", second, false},
		{"back, from read-back", first, true},
		{"to nothing", &backendtest.State{Endpoints: first.Endpoints}, false},
	} {
		will := backendtest.Advance(was, step.state)
		since := was.Revision()
		if step.full {
			since = 0
		}
		p, err := b.Plan(t.Context(), will, since)
		require.NoError(t, err)
		require.Equal(t, step.full, p.Full, step.name)
		require.Greater(t, p.Groups(), 1, step.name)
		transactions := backendtest.Groups(p)
		for i, part := range transactions {
			require.NoError(t, b.Apply(t.Context(), part), "%s: transaction %d", step.name, i)
			require.Empty(t, target.Dangling(t), "%s: transaction %d", step.name, i)
			requireBetween(t, target, was, will, crossings(first), fmt.Sprintf("%s: transaction %d of %d", step.name, i, len(transactions)))
		}
		again, err := b.Plan(t.Context(), will, 0)
		require.NoError(t, err)
		require.Empty(t, again.Ops, step.name)
		was = will
	}
}

// requireBetween checks that the rows allow and deny what both states do.
func requireBetween(t *testing.T, target *ovntest.Target, was, will *intent.Snapshot, flows []intent.Flow, when string) {
	t.Helper()
	for _, f := range flows {
		before, after := was.Evaluate(f).Allowed, will.Evaluate(f).Allowed
		if before == after {
			require.Equal(t, before, target.Verdict(t, f).Allowed, "%s: %s", when, backendtest.FlowText(f))
		}
	}
}
