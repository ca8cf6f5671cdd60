package daemon_test

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

	"github.com/netloom/netloom/pkg/daemon"
)

// pass lets time pass, and what happens in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// longest is the longest time between two attempts of a standby: client-go spreads them.
const longest = time.Duration(2.2 * float64(daemon.DefaultRetryPeriod))

func TestOneLeadsAndTheNextTakesOverWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := newLeases(), &diary{}
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

		a.ending = 3 * daemon.DefaultLeaseDuration
		began := time.Now()
		a.stop()
		require.Equal(t, a.ending, time.Since(began), "nothing else is waited for")
		require.Equal(t, []string{"a ends: context canceled"}, d.read())
		require.Equal(t, []string{"a", ""}, api.holders(), "the Lease is given up after the work has ended, not before")
		pass(longest)
		require.Equal(t, []string{"b begins"}, d.read(), "much sooner than the Lease runs out")
		require.Equal(t, []string{"a", "", "b"}, api.holders())
	})
}

func TestAStandbyThatStopsLeavesTheLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := newLeases(), &diary{}
		newReplica(t, "a", api, d)
		pass(time.Millisecond)
		b := newReplica(t, "b", api, d)
		pass(time.Minute)
		b.stop()
		pass(time.Minute)
		require.Equal(t, []string{"a"}, api.holders())
		require.Equal(t, []string{"a begins"}, d.read())
	})
}

func TestALeaderThatCannotRenewEndsByTheDeadline(t *testing.T) {
	for name, fault := range map[string]func(l *leases){
		"the server refuses":                    func(l *leases) { l.fault = errors.New("no") },
		"the server hangs":                      func(l *leases) { l.hangs = true },
		"the server hangs and nothing stops it": func(l *leases) { l.hangs, l.deaf = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, d := newLeases(), &diary{}
				a := newReplica(t, "a", api, d)
				pass(time.Millisecond)
				newReplica(t, "b", api, d)
				pass(time.Minute + time.Second) // a renewal has just been
				d.read()
				a.leases.set(func() { fault(a.leases) })
				pass(daemon.DefaultRenewDeadline)
				require.Equal(t, []string{"a ends: the Lease could not be renewed in time"}, d.read())
				require.False(t, a.Leading())
				line, err := a.Standby()
				require.NoError(t, err, "it is no less fit than anybody else")
				require.Contains(t, line, "standby: nobody leads")
				pass(daemon.DefaultLeaseDuration - daemon.DefaultRenewDeadline + 2*longest) // to see the last renewal, and that none came
				require.Equal(t, []string{"b begins"}, d.read())
				require.Equal(t, []string{"a", "b"}, api.holders(), "what cannot be reached cannot be given up")

				a.leases.set(func() { a.leases.fault, a.leases.hangs = nil, false })
				pass(2 * deafness)
				line, err = a.Standby()
				require.NoError(t, err)
				require.Equal(t, "standby: b leads", line)
				require.Empty(t, d.read(), "it stands by, and nobody is disturbed")
			})
		})
	}
}

func TestALeaderThatIsReplacedStandsBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := newLeases(), &diary{}
		a := newReplica(t, "a", api, d)
		pass(time.Minute)
		d.read()
		api.take(t, "somebody")
		pass(daemon.DefaultRetryPeriod)
		require.Equal(t, []string{"a ends: another instance has the Lease"}, d.read(), "at the first renewal, not at the deadline")
		line, err := a.Standby()
		require.NoError(t, err)
		require.Equal(t, "standby: somebody leads", line)
		pass(daemon.DefaultLeaseDuration + longest)
		require.Equal(t, []string{"a begins"}, d.read(), "a second term in one process")
		a.stop()
		require.Equal(t, []string{"a", "somebody", "a", ""}, api.holders())
	})
}

// TestClocksMayDiffer gives the Lease to somebody whose clock is wrong. What counts is how long nothing of it has changed here.
func TestClocksMayDiffer(t *testing.T) {
	for name, skew := range map[string]time.Duration{"an hour behind": -time.Hour, "an hour ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, d := newLeases(), &diary{}
				holder, seconds := "elsewhere", int32(daemon.DefaultLeaseDuration/time.Second)
				_, err := api.Leases(leaseSpace).Create(t.Context(), &coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{Namespace: leaseSpace, Name: leaseName},
					Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
				}, metav1.CreateOptions{})
				require.NoError(t, err)
				renew := func(s *coordinationv1.LeaseSpec) {
					at := metav1.NewMicroTime(time.Now().Add(skew))
					s.RenewTime = &at
				}
				newReplica(t, "a", api, d)
				for range 30 {
					api.edit(t, renew)
					pass(daemon.DefaultRetryPeriod)
				}
				require.Empty(t, d.read(), "it is renewed, whatever time is written into it")
				pass(daemon.DefaultLeaseDuration - longest)
				require.Empty(t, d.read(), "it is not taken early")
				pass(3 * longest) // it may look that late at the last renewal, and that late after it ran out
				require.Equal(t, []string{"a begins"}, d.read(), "nor late")
			})
		})
	}
}

// TestConfirmSeesThrough asks after a claim who has the Lease.
func TestConfirmSeesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := newLeases(), &diary{}
		a := newReplica(t, "a", api, d)
		pass(time.Second)
		require.True(t, a.Confirm(t.Context()))
		api.take(t, "somebody")
		require.True(t, a.Leading(), "it cannot know yet")
		require.False(t, a.Confirm(t.Context()))
		synctest.Wait()
		require.Equal(t, []string{"a begins", "a ends: another instance has the Lease"}, d.read())
	})
}

func TestNobodyLeadsWithoutTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, d := newLeases(), &diary{}
		forbidden := apierrors.NewForbidden(coordinationv1.Resource("leases"), leaseName, errors.New("no such right"))
		api.fault = forbidden // before it asks for the first time
		a := newReplica(t, "a", api, d)
		api.fault = nil
		pass(time.Minute)
		require.Empty(t, d.read())
		_, err := a.Standby()
		require.EqualError(t, err, fmt.Sprintf("standby: nobody leads: %v", forbidden))

		api.give(t, "somebody")
		a.leases.set(func() { a.leases.fault = nil })
		pass(longest)
		line, err := a.Standby()
		require.NoError(t, err)
		require.Equal(t, "standby: somebody leads", line)
		a.leases.set(func() { a.leases.fault = forbidden })
		pass(longest)
		_, err = a.Standby()
		require.EqualError(t, err, fmt.Sprintf("standby: somebody leads: %v", forbidden), "it could not take over")
		api.give(t, "")
		a.leases.set(func() { a.leases.fault = nil })
		pass(longest)
		require.Equal(t, []string{"a begins"}, d.read())
	})
}

func TestTheDaemonWantsAnAPIForItsLease(t *testing.T) {
	p := newPlace(t)
	opts := p.options()
	opts.Leader.Enabled = true
	_, err := daemon.New(opts, testLog(t))
	require.EqualError(t, err, "leader election: the Lease is held by a Kubernetes API, and none is read here")

	opts.Leader.Leases = newLeases()
	_, err = daemon.New(opts, testLog(t))
	require.ErrorContains(t, err, "leader election: expected the namespace of the Lease, as neither POD_NAMESPACE nor a service account tells it")
}
