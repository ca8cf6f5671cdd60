package scenario

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// TestInterimRowsDecideAlike lets policies with much in common come and go while pods and namespaces change, and divides only some of those
// again that others changed. At each step the rows decide as the oracle. After some steps nothing changes for a while: then they are those of
// a process that starts then.
func TestInterimRowsDecideAlike(t *testing.T) {
	waited := 0
	seeds.Each(t, "interimrows", func(t *testing.T, seed uint64) {
		w := newAlikeWalk(t, seed)
		w.interim = func() int { return max(0, w.rng.IntN(8)-4) }
		for i := range 20 {
			now := fmt.Sprintf("step %d", i)
			w.put(t)
			w.step(t, now)
			judge := w.cluster(t)
			for _, f := range policygen.Probes(w.c, w.rng, 100) {
				o := judge.Allowed(f)
				want, native := ofOracle(o), ofRows(w.target.Verdict(t, policygen.IntentFlow(f)))
				require.True(t, want.matches(native) || w.excuses(o, want, native), "%s: %+v: the oracle says %s, the rows %s", now, f, want, native)
			}
			waited += w.made.Waiting()
			if i%4 == 3 {
				for w.made.Waiting() > 0 {
					w.step(t, now)
				}
				w.requireFresh(t, now)
			}
			policygen.Mutate(w.c, w.rng)
			for range w.rng.IntN(3) {
				w.toggle()
			}
		}
	})
	if seeds.All() {
		require.Greater(t, waited, 50, "too few policies wait")
	}
}
