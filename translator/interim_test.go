package translator_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// TestAnotherPolicyChangesLater gives a policy something in common with another one, which is divided again only when it is its turn.
func TestAnotherPolicyChangesLater(t *testing.T) {
	tr, _ := start(t, newPolicy(t, "a", from("a", "web")), newPolicy(t, "z", from("z", "lab")))
	put(t, tr, newPolicy(t, "b", from("b", "web")), newPolicy(t, "y", from("y", "lab")))
	s := tr.Interim(0)
	require.Equal(t, []string{"web*"}, partsIn(t, s, "b"))
	require.Empty(t, partsIn(t, s, "a"))
	require.Equal(t, 2, tr.Waiting())
	requireTrue(t, s)

	s = tr.Interim(1)
	require.Equal(t, 1, tr.Waiting(), "the one that waited longest no longer does")
	require.Equal(t, []string{"web*"}, partsIn(t, s, "a"))
	require.Empty(t, partsIn(t, s, "z"))

	put(t, tr, newPolicy(t, "z", from("z", "lab", "ops")))
	s = tr.Interim(0)
	require.Equal(t, []string{"lab*", "ops"}, partsIn(t, s, "z"), "it has changed itself")
	requireSound(t, s)

	remove(tr, newPolicy(t, "y", from("y", "lab")))
	s = tr.Interim(0)
	require.Equal(t, []string{"lab*", "ops"}, partsIn(t, s, "z"), "alone in a group that it shared")
	require.Equal(t, 1, tr.Waiting(), "what is gone does not wait")
	remove(tr, newPolicy(t, "z", from("z", "lab")))
	tr.Interim(0)
	require.Zero(t, tr.Waiting())
	requireSound(t, tr.Snapshot())
}

// TestWhatComesTogetherDoesNotWait changes several policies with something in common at once.
func TestWhatComesTogetherDoesNotWait(t *testing.T) {
	tr, _ := start(t)
	for i := range 20 {
		put(t, tr, newPolicy(t, fmt.Sprint("p", i), from(fmt.Sprint("to", i), "web", "ops")))
	}
	s := tr.Interim(0)
	require.Zero(t, tr.Waiting())
	require.Len(t, partsIn(t, s, "p0"), 1)
	requireSound(t, s)
}

// TestInterimSnapshotsMeanTheSame has policies with long lists and equal ones come and go, and divides a few of those again that others
// changed. What parts say is true at each step, and once none wait the snapshot is that of a translator that gets all of them at once.
func TestInterimSnapshotsMeanTheSame(t *testing.T) {
	waited, alone := 0, 0
	seeds.Each(t, "interim", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(4, seed))
		all := longLists(t, rng, seed)
		tr, _ := start(t)
		there := map[int]bool{}
		for step := range 60 {
			for range rng.IntN(4) {
				n := rng.IntN(len(all))
				if there[n] = !there[n]; there[n] {
					put(t, tr, all[n])
				} else {
					remove(tr, all[n])
				}
			}
			s := tr.Interim(max(0, rng.IntN(30)-15))
			waited += tr.Waiting()
			for _, sharers := range requireTrue(t, s) {
				if sharers == 1 {
					alone++
				}
			}
			fresh, _ := start(t)
			for n, p := range all {
				if there[n] {
					put(t, fresh, p)
				}
			}
			want := fresh.Snapshot()
			requireSamePeers(t, want, s)
			if step%6 < 5 {
				continue
			}
			for tr.Waiting() > 0 {
				s = tr.Interim(1)
			}
			require.Equal(t, dump(want), dump(s), "step %d", step)
		}
		for _, p := range all {
			remove(tr, p)
		}
		tr.Interim(0)
		require.True(t, translator.Empty(tr), "something is left")
	})
	if seeds.All() {
		require.Greater(t, waited, 500, "too few policies wait")
		require.Greater(t, alone, 50, "too few are alone in a group")
	}
}

// requireSamePeers compares policies but for the parts of their rules.
func requireSamePeers(t *testing.T, want, got *intent.Snapshot) {
	t.Helper()
	require.Equal(t, want.PolicyCount(), got.PolicyCount())
	for w := range want.Policies() {
		g := got.Policy(w.ID)
		require.NotNil(t, g, w.ID)
		require.Equal(t, w.Subject, g.Subject)
		require.Len(t, g.Rules, len(w.Rules))
		for i := range w.Rules {
			a, b := w.Rules[i], g.Rules[i]
			a.Parts, b.Parts = nil, nil
			require.Equal(t, a, b, w.ID)
		}
	}
}

// chosen is the i-th of several policies with n peers, of which all have one in common. Somebody has created policies until they had enough
// whose turns are alike, so that one more would have all of them divided again.
func chosen(t *testing.T, i, n int) *networkingv1.NetworkPolicy {
	t.Helper()
	apps := []string{"common"}
	for j := range n - 1 {
		apps = append(apps, fmt.Sprint("own-", i, "-", j))
	}
	p := newPolicy(t, fmt.Sprint("p", i), from(fmt.Sprint("to", i), apps...))
	for try := 0; ; try++ {
		uid := fmt.Sprint(i, "/", try)
		if sum := sha256.Sum256([]byte(uid)); sum[0] == 1<<7 { // half of one rule
			p.UID = types.UID(uid)
			return p
		}
	}
}

// TestAChangeCostsWhatItHasWhateverOthersHave lets a policy come and go among others that all have to be divided again each time.
func TestAChangeCostsWhatItHasWhateverOthersHave(t *testing.T) {
	growth.NearlyLinear(t, 32, func(n int) func() {
		tr, _ := start(t)
		most := n * 3 / 2 // with these, the peer weighs one and a half rules
		for i := range most {
			put(t, tr, chosen(t, i, n))
		}
		last := chosen(t, most, n)
		tr.Snapshot()
		waited := 0
		t.Cleanup(func() { require.Greater(t, waited, n, "the others are not on the verge") })
		return func() {
			put(t, tr, last)
			tr.Interim(0)
			waited = tr.Waiting()
			remove(tr, last)
			tr.Interim(0)
		}
	})
}
