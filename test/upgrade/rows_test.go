package upgrade_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/upgrade"
)

// owner is the owner of all rows.
const owner = "upgrade"

// worlds are the seeds of the recorded worlds.
func worlds() []uint64 { return []uint64{1, 2, 3} }

// schemaOf is the schema of a world's database: every other one has no tiers.
func schemaOf(seed uint64) []byte {
	if seed%2 == 0 {
		return schema.NB2303()
	}
	return schema.NB2503()
}

// recorded returns the manifests of a world, at the time of the record and after a few changes.
func recorded(t testing.TB, seed uint64) [2][]byte {
	t.Helper()
	var out [2][]byte
	for i, when := range []string{"recorded", "later"} {
		var err error
		out[i], err = os.ReadFile(filepath.Join("testdata", "worlds", fmt.Sprintf("%d-%s.yaml", seed, when)))
		require.NoError(t, err)
	}
	return out
}

var update = flag.Bool("update", false, "rewrite testdata/steps.txt")

// TestCurrentVersionTakesOverRows starts the current version on the rows of each earlier version, with the manifests of that time and with
// some that changed while nothing ran. No committed state opens or closes what neither the first nor the last does, and the last has
// the rows of a fresh start. testdata/steps.txt shows how many rows each start leaves as they are: a change of ids or forms changes it.
func TestCurrentVersionTakesOverRows(t *testing.T) {
	var steps strings.Builder
	for _, v := range upgrade.Versions() {
		for _, seed := range worlds() {
			t.Run(fmt.Sprintf("%s world %d", v.Name(), seed), func(t *testing.T) {
				record := upgrade.ReadRecord(t, filepath.Join("testdata", "rows", v.Name(), fmt.Sprintf("%d.json", seed)))
				texts := recorded(t, seed)
				for i, when := range []string{"as recorded", "changed meanwhile"} {
					t.Run(when, func(t *testing.T) {
						step := takeOver(t, seed, record, upgrade.Open(t, texts[0]), upgrade.Open(t, texts[i]))
						fmt.Fprintf(&steps, "%s world %d %s: %s\n", v.Name(), seed, when, step)
					})
				}
			})
		}
	}
	golden := filepath.Join("testdata", "steps.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(steps.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), steps.String(), "rows have other ids or another form: add the version before to versions.txt if both are meant to be, then -update")
}

// takeOver starts the current version on rows that were recorded when the world was another. It returns what changes.
func takeOver(t *testing.T, seed uint64, record *upgrade.Record, was, now *upgrade.World) string {
	t.Helper()
	target := ovntest.New(t, schemaOf(seed))
	endpoint := target.Listen(t)
	prepare(t, target, was)
	record.Restore(t, endpoint)
	target.Own(owner)
	prepare(t, target, now)
	history := upgrade.Watch(t, endpoint)
	start := history.Sync(t)
	sync(t, target, now.Want)
	states := history.Since(t, start)
	require.Empty(t, sync(t, target, now.Want).Ops, "a second start")
	require.Equal(t, fresh(t, seed, now), target.DumpOwner(t, owner), "the rows of a fresh start")

	flows := lasting(now.Flows(seed, 250), was, now)
	bounds := upgrade.NewBounds(t, target, flows, states[0], states[len(states)-1])
	bounds.Check(t, states, "upgrade")
	for _, f := range flows {
		if want := now.Want.Evaluate(f); want.Balanced == nil {
			require.Equal(t, want.Allowed, target.Verdict(t, f).Allowed, "%+v", f)
		}
	}
	return upgrade.Difference(states[0], states[len(states)-1])
}

// prepare creates the ports of a world's pods.
func prepare(t *testing.T, target *ovntest.Target, w *upgrade.World) {
	t.Helper()
	var nodes []*intent.Node
	for n := range w.Want.Nodes() {
		nodes = append(nodes, n)
	}
	target.Prepare(t, w.Endpoints(), nodes)
}

// sync starts the current version, brings the target in sync and returns the plan.
func sync(t *testing.T, target *ovntest.Target, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	b := target.Open(t, owner)
	defer func() { require.NoError(t, b.Close()) }()
	plan, err := b.Plan(t.Context(), want, 0)
	require.NoError(t, err)
	if len(plan.Ops) > 0 {
		require.NoError(t, b.Apply(t.Context(), plan))
	}
	return plan
}

// fresh returns the rows that the current version writes to an empty database.
func fresh(t *testing.T, seed uint64, w *upgrade.World) string {
	t.Helper()
	target := ovntest.New(t, schemaOf(seed))
	prepare(t, target, w)
	sync(t, target, w.Want)
	return target.DumpOwner(t, owner)
}

// lasting leaves out the flows of pods that one of the worlds does not have, or not with the same address.
func lasting(flows []intent.Flow, worlds ...*upgrade.World) []intent.Flow {
	var out []intent.Flow
	for _, f := range flows {
		lasts := true
		for _, w := range worlds {
			lasts = lasts && w.Has(f.Src) && w.Has(f.Dst)
		}
		if lasts {
			out = append(out, f)
		}
	}
	return out
}
