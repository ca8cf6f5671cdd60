package scenario

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// TestInterimRowsDecideAlike lets policies with much in common come and go while pods and namespaces change, and divides only some of those
// again that others changed. At each step the rows decide as the oracle. After some steps nothing changes for a while: then they are those of
// a process that starts then.
func TestInterimRowsDecideAlike(t *testing.T) {
	waited := 0
	seeds.Each(t, "interimrows", func(t *testing.T, seed uint64) {
		rng := policygen.NewRand(seed)
		nb := schema.NB2303()
		if seed%2 == 0 {
			nb = schema.NB2503()
		}
		c := policygen.Generate(seed, policygen.Size{Cluster: 3 * int((seed-1)%4/2), Families: policygen.DualStack})
		policies := policygen.Alike(c, rng, 20)
		c.Policies = append(c.Policies, policies[:15]...)
		p := newProcess(t, ovntest.New(t, nb))
		p.interim = func() int { return max(0, rng.IntN(8)-4) }
		step := func(now string) {
			p.translate(t, false)
			if p.reached > 0 {
				plan, err := p.backend.Plan(t.Context(), p.snapshot, p.reached)
				require.NoError(t, err)
				require.False(t, plan.Resync || plan.Full, now)
			}
			p.reconcile(t)
		}
		for i := range 20 {
			now := fmt.Sprintf("step %d", i)
			p.write(t, manifests(t, c))
			p.answers = c.Answers
			step(now)
			judge := p.cluster(t)
			for _, f := range policygen.Probes(c, rng, 100) {
				o := judge.Allowed(f)
				want, native := ofOracle(o), ofRows(p.target.Verdict(t, policygen.IntentFlow(f)))
				require.True(t, want.matches(native) || p.excuses(o, want, native), "%s: %+v: the oracle says %s, the rows %s", now, f, want, native)
			}
			waited += p.made.Waiting()
			if i%4 == 3 {
				for p.made.Waiting() > 0 {
					step(now)
				}
				rows := p.target.DumpOwner(t, owner)
				fresh := newProcess(t, ovntest.New(t, nb))
				fresh.write(t, manifests(t, c))
				fresh.answers = c.Answers
				fresh.translate(t, false)
				fresh.reconcile(t)
				require.Equal(t, fresh.target.DumpOwner(t, owner), rows, now)
			}
			policygen.Mutate(c, rng)
			for range rng.IntN(3) {
				policygen.Toggle(c, policies[rng.IntN(len(policies))])
			}
		}
	})
	if seeds.All() {
		require.Greater(t, waited, 50, "too few policies wait")
	}
}
