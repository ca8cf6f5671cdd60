package tungsten_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	api "github.com/netloom/netloom/pkg/tungsten"
)

const labelIDs = 32768

// withDeny is shops with a policy for all pods that denies one shop.
func withDeny(n, pods int) *backendtest.State {
	s := shops(n, pods)
	all := backendtest.SetSpec{ID: "all"}
	for _, e := range s.Endpoints {
		all.Keys = append(all.Keys, e.Key)
	}
	s.Sets = append(s.Sets, all)
	s.Policies = append(s.Policies, admin("no-shop-1", intent.Ingress, "all", rule(intent.Deny, "shop-1", tcp(443, 443))))
	return s
}

// TestTagsRunOut leaves the controller few tag IDs or none for sets. With the first plan nothing is open that should not be, what has its
// tags is in force, and the rest is denied and reported. A restart asks for nothing and writes nothing. Once there are IDs again, everything
// is in force.
func TestTagsRunOut(t *testing.T) {
	for _, free := range []int{1, 2, 3, 5, 9, 12} {
		t.Run(fmt.Sprintf("%d free", free), func(t *testing.T) {
			s := withDeny(4, 8)
			target, snap := tungstentest.NewTarget(t), s.Snapshot()
			target.Server.TakeTagIDs("label", labelIDs-free)
			r := newRig(t, target, "a")
			p := r.sync(t, s, snap)
			calls := target.Calls()
			require.LessOrEqual(t, calls["create tag"], free+8+1, "one round of refusals and the tag of another type")
			denied := deniedBy(t, target, s, snap, p)
			if free > 8 {
				require.Less(t, denied, len(s.Policies), "the others are in force")
			}

			again := newRig(t, target, "a")
			q := again.sync(t, s, snap)
			require.Empty(t, q.Ops, "a restart")
			require.Equal(t, p.Skips, q.Skips)
			for what := range target.Calls() {
				require.True(t, strings.HasPrefix(what, "list "), what)
			}
			again.reached = 0
			q = again.sync(t, s, snap)
			require.Zero(t, q.Drift(), "what was refused before is no change by others")
			require.Equal(t, 1, target.Calls()["create tag"], "a read-back tries one")

			target.Server.TakeTagIDs("label", -100)
			again.reached = 0
			again.sync(t, s, snap)
			<-again.backend.Wake()
			again.reached = snap.Revision()
			q = again.sync(t, s, snap)
			require.Empty(t, q.Skips)
			again.judge(t, s, snap)
		})
	}
}

// deniedBy checks that nothing is open that should not be, and returns how many policies are reported for lack of a tag.
func deniedBy(t *testing.T, target *tungstentest.Target, s *backendtest.State, want *intent.Snapshot, p *backends.Plan) int {
	t.Helper()
	denied := map[string]bool{}
	require.NotEmpty(t, p.Skips)
	for _, skip := range p.Skips {
		require.Contains(t, skip.Reason, "no tag IDs left")
		denied[skip.Intent] = true
	}
	for _, f := range backendtest.Probes(s) {
		require.False(t, target.Verdict(t, f).Allowed && !want.Evaluate(f).Allowed, backendtest.FlowText(f))
	}
	return len(denied)
}

// TestTagsRunOutLater has IDs run out when policies are added, and come back when others go.
func TestTagsRunOutLater(t *testing.T) {
	few, many := withDeny(2, 8), withDeny(4, 8)
	target, snap := tungstentest.NewTarget(t), few.Snapshot()
	r := newRig(t, target, "a")
	r.sync(t, few, snap)
	target.Server.TakeTagIDs("label", labelIDs-strings.Count(target.Dump(t), "\ntag label=")-2)
	snap = backendtest.Advance(snap, many)
	p := r.sync(t, many, snap)
	require.False(t, p.Full)
	require.Positive(t, deniedBy(t, target, many, snap, p))
	snap = backendtest.Advance(snap, few)
	r.sync(t, few, snap)
	<-r.backend.Wake()
	require.Empty(t, r.sync(t, few, snap).Skips)
	r.judge(t, few, snap)
}

// TestNoTagAtAll has no ID for the tag without which no policy is enforced: that is an error, each time.
func TestNoTagAtAll(t *testing.T) {
	s := withDeny(2, 4)
	target, snap := tungstentest.NewTarget(t), s.Snapshot()
	target.Server.TakeTagIDs("label", labelIDs)
	target.Prepare(t, s.Endpoints, nil)
	r := newRig(t, target, "a")
	for range 2 {
		_, err := r.try(t, snap)
		require.ErrorContains(t, err, "it enforces nothing")
		require.True(t, api.IsExhausted(err))
	}
}
