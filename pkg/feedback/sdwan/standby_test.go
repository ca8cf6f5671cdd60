package sdwan_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
)

// TestAStandbyKeepsNoWork changes objects before the first run of a controller and between two.
func TestAStandbyKeepsNoWork(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.prepare()
		churn := func() {
			t.Helper()
			for i := range 50 {
				r.Apply(sdwantest.Rule(fmt.Sprintf("passing-%d", i), "10.9.0.0/24"))
				r.After(time.Second)
				r.Remove("Mwan3Rule", fmt.Sprintf("passing-%d", i))
				r.After(time.Second)
			}
			require.Zero(t, r.controller.Backlog())
			require.Empty(t, r.Writes())
			require.False(t, r.Counted("openwrt/site/cnf-0"))
		}
		churn()
		for run, dst := range []string{"10.1.0.0/24", "10.2.0.0/24"} {
			r.Apply(sdwantest.Rule("web", dst))
			r.term()
			r.After(3 * time.Second)
			require.Equal(t, 1, sdwantest.RulesTo(d, dst), "run %d", run)
			require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State, "run %d", run)
			require.Equal(t, "cnf-0", r.Rule("web").Status.Pods[0].Name)
			r.Pod("cnf-0", "10.0.0.1", sdwantest.NotReady)
			r.After(time.Second)
			require.Positive(t, r.controller.Backlog(), "objects that the pod may not have are remembered")
			r.standby()
			r.standby = nil
			r.Pod("cnf-0", "10.0.0.1")
			r.Writes()
			churn()
		}
	})
}

// TestARetryIsNotHurriedByChanges changes an object again and again while its writes fail.
func TestARetryIsNotHurriedByChanges(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		var tries atomic.Int32
		r.Fail(func(clienttesting.PatchAction) error {
			tries.Add(1)
			return errors.New("no")
		})
		for i := range 60 { // retries after 1, 2, 4, 8, 16 and 32 seconds
			r.Apply(sdwantest.Rule("web", fmt.Sprintf("10.1.%d.0/24", i)))
			r.After(time.Second)
		}
		require.EqualValues(t, 6, tries.Load())
		r.Fail(nil)
		r.After(40 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)

		r.Fail(func(clienttesting.PatchAction) error { return errors.New("no") })
		r.Apply(sdwantest.Rule("web", "10.2.0.0/24"))
		r.After(3 * time.Second)
		r.Fail(nil)
		r.After(2 * time.Second)
		require.Equal(t, r.Rule("web").Generation, r.Rule("web").Status.AppliedGeneration, "the backoff starts again")
	})
}
