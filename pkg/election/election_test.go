package election_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/election/electiontest"
)

// pass lets time pass and waits until everything due has happened.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// longest is the longest time between two attempts of a standby: client-go spreads them.
const longest = time.Duration(2.2 * float64(election.DefaultRetryPeriod))

func TestOneLeadsAndTheNextTakesOverWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := electiontest.New(), &diary{}
		a := newReplica(t, "a", api, d)
		pass(time.Millisecond)
		b := newReplica(t, "b", api, d)
		pass(5 * time.Minute)
		require.Equal(t, []string{"a begins"}, d.read(), "a Lease that is renewed stays")
		require.True(t, a.Leading())
		require.False(t, b.Leading())
		line, err := b.Standby()
		require.NoError(t, err)
		require.Equal(t, "standby: a leads", line)

		a.ending = 3 * election.DefaultLeaseDuration
		began := time.Now()
		a.stop()
		require.Equal(t, a.ending, time.Since(began), "nothing else is waited for")
		require.Equal(t, []string{"a ends: context canceled"}, d.read())
		require.Equal(t, []string{"a", ""}, api.Holders(), "the Lease is given up after the work has ended, not before")
		pass(longest)
		require.Equal(t, []string{"b begins"}, d.read(), "much sooner than the Lease runs out")
		require.Equal(t, []string{"a", "", "b"}, api.Holders())
	})
}

func TestAStandbyThatStopsLeavesTheLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := electiontest.New(), &diary{}
		newReplica(t, "a", api, d)
		pass(time.Millisecond)
		b := newReplica(t, "b", api, d)
		pass(time.Minute)
		b.stop()
		pass(time.Minute)
		require.Equal(t, []string{"a"}, api.Holders())
		require.Equal(t, []string{"a begins"}, d.read())
	})
}

func TestALeaderThatCannotRenewEndsByTheDeadline(t *testing.T) {
	for name, fault := range map[string]electiontest.Fault{
		"the server refuses":                       {Err: errors.New("no")},
		"the server hangs":                         {Hangs: true},
		"the server hangs and requests cannot end": {Hangs: true, Deaf: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, d := electiontest.New(), &diary{}
				a := newReplica(t, "a", api, d)
				pass(time.Millisecond)
				newReplica(t, "b", api, d)
				pass(time.Minute + time.Second) // a renewal has just been
				d.read()
				a.leases.Fail(fault)
				pass(election.DefaultRenewDeadline)
				require.Equal(t, []string{"a ends: the Lease could not be renewed in time"}, d.read())
				require.False(t, a.Leading())
				line, err := a.Standby()
				require.NoError(t, err, "it could take over like any other")
				require.Contains(t, line, "standby: no instance leads")
				pass(election.DefaultLeaseDuration - election.DefaultRenewDeadline + 2*longest) // to see the last renewal, and that none came
				require.Equal(t, []string{"b begins"}, d.read())
				require.Equal(t, []string{"a", "b"}, api.Holders(), "what cannot be reached cannot be given up")

				a.leases.Fail(electiontest.Fault{})
				pass(2 * electiontest.Deafness)
				line, err = a.Standby()
				require.NoError(t, err)
				require.Equal(t, "standby: b leads", line)
				require.Empty(t, d.read(), "it stays on standby and disturbs no other instance")
			})
		})
	}
}

func TestALeaderThatIsReplacedStandsBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := electiontest.New(), &diary{}
		a := newReplica(t, "a", api, d)
		pass(time.Minute)
		d.read()
		api.Take(t, "somebody")
		pass(election.DefaultRetryPeriod)
		require.Equal(t, []string{"a ends: another instance holds the Lease"}, d.read(), "at the first renewal, not at the deadline")
		line, err := a.Standby()
		require.NoError(t, err)
		require.Equal(t, "standby: somebody leads", line)
		pass(election.DefaultLeaseDuration + longest)
		require.Equal(t, []string{"a begins"}, d.read(), "a second term in one process")
		a.stop()
		require.Equal(t, []string{"a", "somebody", "a", ""}, api.Holders())
	})
}

// TestClocksMayDiffer gives the Lease to a holder whose clock is wrong. What counts is for how long the Lease has not changed.
func TestClocksMayDiffer(t *testing.T) {
	for name, skew := range map[string]time.Duration{"an hour behind": -time.Hour, "an hour ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, d := electiontest.New(), &diary{}
				holder, seconds := "elsewhere", int32(election.DefaultLeaseDuration/time.Second)
				_, err := api.Leases(electiontest.Namespace).Create(t.Context(), &coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{Namespace: electiontest.Namespace, Name: electiontest.Name},
					Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
				}, metav1.CreateOptions{})
				require.NoError(t, err)
				renew := func(s *coordinationv1.LeaseSpec) {
					at := metav1.NewMicroTime(time.Now().Add(skew))
					s.RenewTime = &at
				}
				newReplica(t, "a", api, d)
				for range 30 {
					api.Edit(t, renew)
					pass(election.DefaultRetryPeriod)
				}
				require.Empty(t, d.read(), "it is renewed, whatever time is written into it")
				pass(election.DefaultLeaseDuration - longest)
				require.Empty(t, d.read(), "it is not taken early")
				pass(3 * longest) // it may look that late at the last renewal, and that late after it ran out
				require.Equal(t, []string{"a begins"}, d.read(), "nor late")
			})
		})
	}
}

// TestConfirmAsksTheAPI gives the Lease to another instance before the elector could notice.
func TestConfirmAsksTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := electiontest.New(), &diary{}
		a := newReplica(t, "a", api, d)
		pass(time.Second)
		require.True(t, a.Confirm(t.Context()))
		api.Take(t, "somebody")
		require.True(t, a.Leading(), "it cannot know yet")
		require.False(t, a.Confirm(t.Context()))
		synctest.Wait()
		require.Equal(t, []string{"a begins", "a ends: another instance holds the Lease"}, d.read())
	})
}

func TestNoInstanceLeadsWithoutTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := electiontest.New(), &diary{}
		forbidden := apierrors.NewForbidden(coordinationv1.Resource("leases"), electiontest.Name, errors.New("no such right"))
		api.Fail(electiontest.Fault{Err: forbidden}) // before it asks for the first time
		a := newReplica(t, "a", api, d)
		api.Fail(electiontest.Fault{})
		pass(time.Minute)
		require.Empty(t, d.read())
		_, err := a.Standby()
		require.EqualError(t, err, fmt.Sprintf("standby: no instance leads: %v", forbidden))

		api.Give(t, "somebody")
		a.leases.Fail(electiontest.Fault{})
		pass(longest)
		line, err := a.Standby()
		require.NoError(t, err)
		require.Equal(t, "standby: somebody leads", line)
		a.leases.Fail(electiontest.Fault{Err: forbidden})
		pass(longest)
		_, err = a.Standby()
		require.EqualError(t, err, fmt.Sprintf("standby: somebody leads: %v", forbidden), "it could not take over")
		api.Give(t, "")
		a.leases.Fail(electiontest.Fault{})
		pass(longest)
		require.Equal(t, []string{"a begins"}, d.read())
	})
}

func TestOnlyAFirstTermThatBeginsSoonIsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := electiontest.New(), &diary{}
		api.Give(t, "")
		a := newReplica(t, "a", api, d)
		pass(longest)
		require.Equal(t, []string{"a begins"}, d.read())
		require.True(t, a.early)
		api.Take(t, "other")
		pass(election.DefaultLeaseDuration + 2*longest)
		require.Equal(t, []string{"a ends: another instance holds the Lease", "a begins"}, d.read())
		require.False(t, a.early, "a second term")
		a.stop()

		api.Give(t, "other")
		b := newReplica(t, "b", api, d)
		b.early = true
		pass(time.Hour)
		d.read()
		api.Give(t, "")
		pass(longest)
		require.Equal(t, []string{"b begins"}, d.read())
		require.False(t, b.early, "an hour later")
	})
}

func TestTheLeaseNeedsAnAPIAndANamespace(t *testing.T) {
	_, err := election.Options{}.Complete("netloom", nil)
	require.EqualError(t, err, "leader election: the Lease requires a Kubernetes API")
	_, err = election.Options{Leases: electiontest.New()}.Complete("netloom", nil)
	require.ErrorContains(t, err, "leader election: expected the namespace of the Lease, because neither POD_NAMESPACE nor a service account provides it")

	t.Setenv("POD_NAMESPACE", "here")
	t.Setenv("POD_NAME", "netloom-0")
	opts, err := election.Options{Leases: electiontest.New()}.Complete("netloom", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"here", "netloom-leader"}, []string{opts.Namespace, opts.Name})
	require.Regexp(t, `^netloom-0_[0-9a-f]{8}$`, opts.Identity)
	require.Equal(t, election.DefaultRenewDeadline, opts.RenewDeadline)
}
