package election_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/election/electiontest"
	"github.com/netloom/netloom/pkg/reconcile"
)

// fenced is a target that writes into a diary what is done to it.
type fenced struct {
	*election.Fence
	diary *diary
	down  atomic.Bool // claims fail
	then  func()      // called once it is claimed; nil is nothing
	n     uint64
}

// Claim counts claims.
func (f *fenced) Claim(_ context.Context, holder string) (uint64, error) {
	if f.down.Load() {
		return 0, errors.New("no connection")
	}
	f.n++
	f.diary.add(fmt.Sprintf("claim %d by %s", f.n, holder))
	if f.then != nil {
		f.then()
	}
	return f.n, nil
}

func (f *fenced) sync(ctx context.Context) error {
	f.diary.add("loop begins")
	<-ctx.Done()
	f.diary.add("loop ends")
	return nil
}

// newFenced has an instance keep a target in sync as long as it leads.
func newFenced(t *testing.T, api *electiontest.Leases, d *diary, change ...func(*fenced)) (*fenced, *replica) {
	t.Helper()
	f := &fenced{diary: d}
	for _, g := range change {
		g(f)
	}
	r := newReplica(t, "a", api, &diary{}, func(r *replica) {
		f.Fence = r.Fence(election.Target{
			Name: "db", Claimer: f, Sync: f.sync,
			Pause:    func(_ context.Context, d time.Duration) { time.Sleep(d) },
			Failed:   func(err error) { d.add("failed: " + err.Error()) },
			RetryMin: time.Second, RetryMax: 3 * time.Second,
		})
		r.during = f.Run
	})
	pass(time.Millisecond)
	return f, r
}

func TestATargetIsClaimedBeforeItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		f, r := newFenced(t, electiontest.New(), d)
		require.Equal(t, []string{"claim 1 by a", "loop begins"}, d.read())
		f.Failed("db", reconcile.PhaseApply, errors.New("disk full"))
		pass(time.Minute)
		require.Empty(t, d.read(), "no other error ends the loop")
		require.NoError(t, f.Err())
		r.stop()
		require.Equal(t, []string{"loop ends"}, d.read())
	})
}

func TestALeaderWhoseClaimIsLostClaimsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		f, _ := newFenced(t, electiontest.New(), d)
		d.read()
		f.Failed("db", reconcile.PhaseApply, fmt.Errorf("apply: %w", backends.ErrDeposed))
		pass(election.DefaultLeaseDuration - time.Millisecond)
		require.Equal(t, []string{"loop ends"}, d.read())
		require.ErrorIs(t, f.Err(), backends.ErrDeposed)
		pass(2 * time.Millisecond)
		require.Equal(t, []string{"claim 2 by a", "loop begins"}, d.read(), "after a lease duration")
		require.NoError(t, f.Err())
	})
}

func TestAFormerLeaderDoesNotClaimAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, api := &diary{}, electiontest.New()
		f, r := newFenced(t, api, d)
		d.read()
		api.Give(t, "b")
		require.True(t, r.Leading(), "it cannot know yet")
		f.Failed("db", reconcile.PhaseApply, backends.ErrDeposed)
		pass(time.Millisecond)
		require.False(t, r.Leading())
		pass(time.Minute)
		require.Equal(t, []string{"loop ends"}, d.read())
	})
}

func TestALeaseThatIsLostDuringTheClaimEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, api := &diary{}, electiontest.New()
		_, r := newFenced(t, api, d, func(f *fenced) { f.then = func() { api.Give(t, "b") } })
		require.Equal(t, []string{"claim 1 by a"}, d.read(), "nothing is written")
		require.False(t, r.Leading())
	})
}

func TestAClaimIsRetriedMoreAndMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		f, _ := newFenced(t, electiontest.New(), d, func(f *fenced) { f.down.Store(true) })
		require.EqualError(t, f.Err(), "no connection")
		for _, wait := range []int{1, 2, 3, 3} {
			require.Len(t, d.read(), 1)
			pass(time.Duration(wait)*time.Second - 2*time.Millisecond)
			require.Empty(t, d.read())
			pass(2 * time.Millisecond)
		}
		f.down.Store(false)
		pass(3 * time.Second)
		require.Equal(t, []string{"failed: no connection", "claim 1 by a", "loop begins"}, d.read())
		require.NoError(t, f.Err())
	})
}
