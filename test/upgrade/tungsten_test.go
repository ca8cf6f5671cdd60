//go:build e2e

package upgrade_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	"github.com/netloom/netloom/test/upgrade"
)

// controller is a Tungsten Fabric controller for programs, and the verdicts on some flows after each of their writes.
type controller struct {
	*tungstentest.Target
	url   string
	flows []intent.Flow
	after [][]backendtest.Verdict
}

func newController(t *testing.T, flows []intent.Flow, all ...*upgrade.World) *controller {
	t.Helper()
	c := &controller{Target: tungstentest.NewTarget(t), flows: flows}
	for _, w := range all {
		c.Prepare(t, w.Endpoints(), nil)
	}
	var err error
	c.url, err = c.Server.Start(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	c.Server.Observe(func([]simulator.Change) { c.after = append(c.after, c.judge(t)) })
	return c
}

func (c *controller) judge(t *testing.T) []backendtest.Verdict {
	t.Helper()
	var verdicts []backendtest.Verdict
	for _, f := range c.flows {
		verdicts = append(verdicts, c.Verdict(t, f))
	}
	return verdicts
}

// apply runs a program once, and returns the verdicts before and after each write.
func (c *controller) apply(t *testing.T, p *upgrade.Program, w *upgrade.World) [][]backendtest.Verdict {
	t.Helper()
	c.after = [][]backendtest.Verdict{c.judge(t)}
	p.Apply(t, w, "--tungsten", c.url, "--owner", owner)
	return c.after
}

// closesFirst is a version that takes over the policies of a later one, in eight firewall policies, by denying what it has not written yet.
const closesFirst = "3754c55d"

// TestUpAndDownOnTungsten goes from each version to the current one and back. A controller has no transactions: each single write is judged.
func TestUpAndDownOnTungsten(t *testing.T) {
	current := upgrade.Current(t)
	for _, v := range upgrade.Versions() {
		old := v.Program(t)
		t.Run(v.Name(), func(t *testing.T) {
			const seed = 1
			all := generated(t, seed, 2)
			flows := slices.DeleteFunc(lasting(all[0].Flows(seed, 250), all...), func(f intent.Flow) bool { return f.Dst.Key == object.Key{} })
			c := newController(t, flows, all...)
			c.apply(t, old, all[0])
			for i, step := range []struct {
				to    *upgrade.Program
				world int
			}{{current, 0}, {old, 0}, {current, 1}, {old, 2}} {
				states := c.apply(t, step.to, all[step.world])
				bounds := upgrade.BoundsOf(flows, states[0], states[len(states)-1])
				for n, verdicts := range states {
					faults := slices.DeleteFunc(bounds.Outside(verdicts), func(fault string) bool {
						return step.to.Name == closesFirst && strings.Contains(fault, "cut, although")
					})
					require.Empty(t, faults, "step %d, to %s, after write %d of %d", i, step.to.Name, n, len(states)-1)
				}
				fresh := newController(t, nil, all...)
				fresh.apply(t, step.to, all[step.world])
				require.Equal(t, fresh.DumpOwner(t, owner), c.DumpOwner(t, owner), "step %d", i)
			}
		})
	}
}
