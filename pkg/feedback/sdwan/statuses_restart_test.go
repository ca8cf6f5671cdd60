package sdwan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/object"
)

// A process that starts has asked no CNF yet. The reported status stays until it has.
func TestARestartResetsNoStatus(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		b := r.CNF("cnf-1", "10.0.0.2")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.Apply(&v1alpha1.CNFService{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: v1alpha1.CNFServiceSpec{
			FullName: "10.9.9.9", Port: "2288", DPort: "8080",
		}})
		refused := sdwantest.Rule("lost", "10.2.0.0/24")
		refused.Spec.Policy = "missing"
		r.Apply(refused)
		r.start()
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
		require.Equal(t, v1alpha1.InSync, r.service().State)
		require.Equal(t, "Refused", r.Rule("lost").Status.Conditions[1].Reason)

		for _, delay := range []time.Duration{0, 2 * time.Second} {
			r.stop()
			b.Delay(delay)
			r.Writes()
			r.start()
			require.Empty(t, r.Writes(), "while no CNF has been asked")
			r.After(2 * time.Minute)
			require.Empty(t, r.Writes(), "nothing has changed")
		}
		b.Delay(0)

		r.stop()
		r.Pod("cnf-1", "10.0.0.2", sdwantest.NotReady)
		r.start()
		require.Equal(t, "pod cnf-1: the pod is not ready", r.Rule("web").Status.Message, "what is known is reported")
		r.Pod("cnf-1", "10.0.0.2")
		r.After(2 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)

		r.stop()
		r.Apply(sdwantest.Rule("web", "10.3.0.0/24"))
		b.Delay(2 * time.Second)
		r.start()
		require.Equal(t, v1alpha1.Applying, r.Rule("web").Status.State, "it was reported of another generation")
		b.Delay(0)
		r.After(time.Minute)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
	})
}

// TestTheTimeOfAWipedReplica has a replica lose its configuration, while netloom does not run or unnoticed: it got the objects when they
// were written again, and the other replica when they were written first.
func TestTheTimeOfAWipedReplica(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		inBubble(t, func(r *rig) {
			r.CNF("cnf-0", "10.0.0.1")
			b := r.CNF("cnf-1", "10.0.0.2")
			r.Apply(sdwantest.Policy("both"))
			r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
			r.start()
			first := r.Rule("web").Status
			require.Equal(t, first.Pods[0].AppliedTime, first.Pods[1].AppliedTime)
			if stopped {
				r.stop()
			}
			r.After(10 * time.Minute)
			b.Recreate()
			wiped := time.Now().Truncate(time.Second)
			if stopped {
				r.start()
			}
			r.After(time.Minute)
			s := r.Rule("web").Status
			require.Equal(t, v1alpha1.InSync, s.State)
			require.Equal(t, first.Pods[0].AppliedTime, s.Pods[0].AppliedTime)
			require.False(t, s.Pods[1].AppliedTime.Time.Before(wiped))
			require.Equal(t, s.Pods[1].AppliedTime, s.AppliedTime)
			require.Equal(t, first.AppliedVersion, s.AppliedVersion, "the object is the same")
			r.Writes()
			r.stop()
			r.start()
			r.After(time.Hour)
			require.Empty(t, r.Writes(), "nothing was written since then")
		})
	}
}

func TestACNFThatDoesNotAnswerAfterARestartIsReported(t *testing.T) {
	inBubble(t, func(r *rig) {
		a := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.stop()
		a.Hang()
		r.start()
		r.After(3 * time.Minute)
		require.Equal(t, v1alpha1.Applying, r.policy("both").Status.State)
	})
}

// A pod that starts again while the process runs has been asked before: it may have lost everything.
func TestARestartedPodResetsTheStatus(t *testing.T) {
	inBubble(t, func(r *rig) {
		a := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		require.Equal(t, v1alpha1.InSync, r.policy("both").Status.State)
		a.Delay(2 * time.Second)
		r.Pod("cnf-0", "10.0.0.1", sdwantest.Restarted)
		r.After(2 * time.Second)
		require.Equal(t, v1alpha1.Applying, r.policy("both").Status.State)
	})
}

// It makes no difference if a pod starts again before the process has asked it at all.
func TestAPodRestartedBeforeItWasAskedResetsTheStatus(t *testing.T) {
	inBubble(t, func(r *rig) {
		a := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.stop()
		a.Delay(8 * time.Second)
		r.start()
		require.Equal(t, v1alpha1.InSync, r.policy("both").Status.State)
		r.Pod("cnf-0", "10.0.0.1", sdwantest.Restarted)
		r.After(3 * time.Second)
		require.Equal(t, v1alpha1.Applying, r.policy("both").Status.State)
		a.Delay(0)
		r.After(time.Minute)
		require.Equal(t, v1alpha1.InSync, r.policy("both").Status.State)
	})
}

// policy is a Mwan3Policy as the API has it.
func (r *rig) policy(name string) *v1alpha1.Mwan3Policy {
	r.Helper()
	o, ok := r.Source.Get(object.Ref{Kind: "Mwan3Policy", Namespace: "site", Name: name})
	require.True(r, ok)
	p, ok := o.(*v1alpha1.Mwan3Policy)
	require.True(r, ok)
	return p
}
