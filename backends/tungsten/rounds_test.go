package tungsten_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
)

// TestRounds counts how often the first load waits for the controller: eight requests are in flight, except at the end of a phase and for one
// object, to which never two are. A load by one request at a time waits once for each.
func TestRounds(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s := shops(100, 400)
	target.Prepare(t, s.Endpoints, nil)
	target.Rounds()
	p := newRig(t, target, "a").sync(t, s, s.Snapshot())
	rounds := target.Rounds()
	sent := 0
	for _, requests := range rounds {
		sent += len(requests)
		require.LessOrEqual(t, len(requests), 8)
		objects := map[string]bool{}
		for _, what := range requests {
			word := strings.Fields(what)
			require.False(t, objects[word[2]], "two requests for one object at once: %v", requests)
			objects[word[2]] = true
			require.Equal(t, strings.Fields(requests[0])[:2], word[:2], "one phase at a time")
		}
	}
	require.Equal(t, len(p.Ops), sent)
	t.Logf("%d requests in %d rounds", sent, len(rounds))
	require.Less(t, len(rounds), sent/7)
}

// TestOrderOfARound takes random walks and judges after every request, whichever of a round arrives first: nothing is opened that both states
// deny.
func TestOrderOfARound(t *testing.T) {
	for _, backwards := range []bool{false, true} {
		walked := 0
		for seed := uint64(1); seed <= 3; seed++ {
			target := tungstentest.NewTarget(t)
			if backwards {
				target.Backwards()
			}
			states := backendtest.History(seed, 8)
			for i, s := range states {
				plain := *s
				plain.LoadBalancers, plain.Nodes, plain.Policies = nil, nil, nil
				for _, p := range s.Policies {
					plain.Policies = append(plain.Policies, withoutSCTP(p))
				}
				plain.Endpoints = ofTheirOwn(s.Endpoints)
				states[i] = &plain
			}
			r, was := newRig(t, target, "a"), intent.NewSnapshot()
			for i, s := range states {
				target.Prepare(t, s.Endpoints, nil)
				will := backendtest.Advance(was, s)
				var flows []intent.Flow
				if i > 0 {
					flows = slices.DeleteFunc(backendtest.Probes(states[i-1], s), func(f intent.Flow) bool {
						return moved(f.Src, states[i-1], s) || moved(f.Dst, states[i-1], s)
					})
				}
				opened := ""
				target.Server.Observe(func([]simulator.Change) {
					for _, f := range flows {
						if opened == "" && !was.Evaluate(f).Allowed && !will.Evaluate(f).Allowed && target.Verdict(t, f).Allowed {
							opened = backendtest.FlowText(f)
						}
					}
				})
				_, err := r.try(t, will)
				require.NoError(t, err)
				require.Empty(t, opened, "seed %d step %d", seed, i)
				flows, was = nil, will
				walked++
			}
		}
		require.Positive(t, walked)
	}
}

// TestAtOnce loads a controller with requests that are in flight at the same time: it has the same as after one at a time.
func TestAtOnce(t *testing.T) {
	s := shops(20, 60)
	one := tungstentest.NewTarget(t)
	newRig(t, one, "a").sync(t, s, s.Snapshot())

	target := tungstentest.NewTarget(t)
	target.Prepare(t, s.Endpoints, nil)
	b, err := tungsten.New(target.Client, tungsten.Options{Owner: "a", ServiceNetwork: (&tungsten.Settings{}).Network()})
	require.NoError(t, err)
	for _, want := range []*intent.Snapshot{s.Snapshot(), intent.NewSnapshot(), s.Snapshot()} {
		plan, err := b.Plan(t.Context(), want, 0)
		require.NoError(t, err)
		require.NoError(t, b.Apply(t.Context(), plan))
	}
	require.Equal(t, one.DumpOwner(t, "a"), target.DumpOwner(t, "a"))
}
