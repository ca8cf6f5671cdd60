//go:build e2e

package upgrade_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/upgrade"
)

var record = flag.Bool("record", false, "write testdata/worlds and testdata/rows anew")

// TestRecordsAreWhatTheVersionsWrite runs each version over the recorded worlds, and compares what it writes with the record.
func TestRecordsAreWhatTheVersionsWrite(t *testing.T) {
	if *record {
		for _, seed := range worlds() {
			for i, manifests := range upgrade.Generate(t, seed, 1) {
				writeFile(t, manifests, "worlds", fmt.Sprintf("%d-%s.yaml", seed, []string{"recorded", "later"}[i]))
			}
		}
	}
	for _, v := range upgrade.Versions() {
		t.Run(v.Name(), func(t *testing.T) {
			p := v.Program(t)
			for _, seed := range worlds() {
				w := upgrade.Open(t, recorded(t, seed)[0])
				r := newRig(t, seed, w)
				before := r.history.Last(t)
				r.apply(t, p, w)
				text := upgrade.NewRecord(before, r.history.Last(t)).Text(t)
				name := fmt.Sprintf("%d.json", seed)
				if *record {
					writeFile(t, text, "rows", v.Name(), name)
				}
				want, err := os.ReadFile(filepath.Join("testdata", "rows", v.Name(), name))
				require.NoError(t, err)
				require.Equal(t, string(want), string(text), "seed %d: run make upgrade-record", seed)
			}
		})
	}
}

func writeFile(t *testing.T, content []byte, at ...string) {
	t.Helper()
	path := filepath.Join(append([]string{"testdata"}, at...)...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// rig is a database for programs, and what was committed to it.
type rig struct {
	seed     uint64
	target   *ovntest.Target
	endpoint string
	history  *upgrade.History
}

// newRig makes a database with the ports of all pods of some worlds.
func newRig(t *testing.T, seed uint64, all ...*upgrade.World) *rig {
	t.Helper()
	r := &rig{seed: seed, target: ovntest.New(t, schemaOf(seed))}
	r.endpoint = r.target.Listen(t)
	r.target.Own(owner)
	for _, w := range all {
		prepare(t, r.target, w)
	}
	r.history = upgrade.Watch(t, r.endpoint)
	return r
}

func (r *rig) flags() []string { return r.target.Flags(r.endpoint, owner) }

// apply runs a program once, and returns the states on the way, that before included.
func (r *rig) apply(t *testing.T, p *upgrade.Program, w *upgrade.World) []upgrade.State {
	t.Helper()
	start := r.history.Sync(t)
	p.Apply(t, w, r.flags()...)
	return r.history.Since(t, start)
}

// alone returns what a program writes for a world to an empty database, as a state and as rows.
func (r *rig) alone(t *testing.T, p *upgrade.Program, w *upgrade.World, all ...*upgrade.World) (state upgrade.State, rows string) {
	t.Helper()
	other := newRig(t, r.seed, all...)
	other.apply(t, p, w)
	return other.history.Last(t), other.target.DumpOwner(t, owner)
}

// TestUpAndDown goes from each version to the current one and back, twice, first with the same manifests, then with others each time. No
// committed state opens or closes what neither the version before nor the one after does, and each leaves the rows of its fresh start.
func TestUpAndDown(t *testing.T) {
	current := upgrade.Current(t)
	for _, v := range upgrade.Versions() {
		old := v.Program(t)
		t.Run(v.Name(), func(t *testing.T) {
			for _, seed := range worlds() {
				all := generated(t, seed, 3)
				r := newRig(t, seed, all...)
				flows := lasting(all[0].Flows(seed, 250), all...)
				r.apply(t, old, all[0])
				for i, step := range []struct {
					to    *upgrade.Program
					world int
				}{{current, 0}, {old, 0}, {current, 0}, {old, 1}, {current, 2}, {old, 3}} {
					states := r.apply(t, step.to, all[step.world])
					what := fmt.Sprintf("step %d, to %s with world %d", i, step.to.Name, step.world)
					upgrade.NewBounds(t, r.target, flows, states[0], states[len(states)-1]).Check(t, states, what)
					_, rows := r.alone(t, step.to, all[step.world], all...)
					require.Equal(t, rows, r.target.DumpOwner(t, owner), what)
				}
			}
		})
	}
}

// generated returns the worlds of a seed.
func generated(t *testing.T, seed uint64, later int) []*upgrade.World {
	t.Helper()
	var all []*upgrade.World
	for _, manifests := range upgrade.Generate(t, seed, later) {
		all = append(all, upgrade.Open(t, manifests))
	}
	return all
}

// TestDowngradeInAStorm replaces the running program, down, up and down again, while the manifests change all the time.
func TestDowngradeInAStorm(t *testing.T) {
	const seed, changes, term = 1, 11, 4 // a program sees the last change of the one before it, and three more
	current := upgrade.Current(t)
	for _, v := range upgrade.Versions() {
		old := v.Program(t)
		t.Run(v.Name(), func(t *testing.T) {
			all := generated(t, seed, changes)
			r := newRig(t, seed, all...)
			var synced []upgrade.State
			rows := map[*upgrade.Program][]string{}
			for _, p := range []*upgrade.Program{old, current} {
				for _, w := range all {
					state, text := r.alone(t, p, w, all...)
					synced, rows[p] = append(synced, state), append(rows[p], text)
				}
			}
			live := upgrade.Open(t, all[0].Text(t))
			flags := append(r.flags(), "--manifests", live.Dir)
			r.apply(t, current, live)
			start := r.history.Sync(t)
			p := current
			running := p.Run(t, flags...)
			for i, w := range all {
				live.Write(t, w.Text(t))
				switch i % term {
				case 1: // the next changes come while this one is written
					await.True(t, func() bool { return r.target.DumpOwner(t, owner) == rows[p][i] }, "%s writes change %d", p.Name, i)
				case term - 1: // in the middle of the last changes
					running.Stop(t)
					p = map[*upgrade.Program]*upgrade.Program{current: old, old: current}[p]
					running = p.Run(t, flags...)
				}
			}
			await.True(t, func() bool { return r.target.DumpOwner(t, owner) == rows[p][changes] }, "%s writes the last change", p.Name)
			running.Stop(t)
			flows := lasting(all[0].Flows(seed, 250), all...)
			upgrade.NewBounds(t, r.target, flows, synced...).Check(t, r.history.Since(t, start), "storm")
		})
	}
}
