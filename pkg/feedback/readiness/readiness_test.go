package readiness_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
)

const installed = "True Installed: installed: NetworkPolicy shop/shield generation 3"

// TestAPodIsReadyOnceItsRowsAreInstalled checks the order: written, then installed, then one write of the condition.
func TestAPodIsReadyOnceItsRowsAreInstalled(t *testing.T) {
	withRig(t, func(d *rig) {
		d.target.set(func(p *peer) { p.automatic = false })
		d.start()
		d.pod("web-0", "web", "", "")
		d.after(10 * time.Second)
		require.Empty(t, d.writes(), "without an address")

		d.target.set(func(p *peer) { p.missing = []string{"web-0"} })
		d.pod("web-0", "web", "10.0.0.2", "")
		d.after(10 * time.Second)
		require.Empty(t, d.writes(), "without a logical port")
		require.Zero(t, d.target.marks, "nothing is asked before it is written")

		d.target.set(func(p *peer) { p.missing = nil })
		d.policy("other", 1) // a round
		d.after(10 * time.Second)
		require.Empty(t, d.writes(), "written, not installed")
		require.Equal(t, 1, d.target.marks)

		d.target.set(func(p *peer) { p.through = p.newest })
		d.after(time.Second)
		require.Equal(t, []string{"web-0 True Installed: installed: NetworkPolicy shop/other generation 1, NetworkPolicy shop/shield generation 3"}, d.writes())
		d.after(time.Hour)
		require.Empty(t, d.writes())
		require.Equal(t, 1, d.target.marks)
	})
}

// podStarts starts many pods, ten at a time: each first has no address.
func (d *rig) podStarts(pods int) {
	for _, addressed := range []bool{false, true} {
		for i := range pods {
			addr := ""
			if addressed {
				addr = fmt.Sprintf("10.0.%d.%d", i/200, i%200+1)
			}
			d.pod(fmt.Sprintf("web-%03d", i), "web", addr, "")
			if i%10 == 0 {
				d.after(100 * time.Millisecond)
			}
		}
	}
	d.after(30 * time.Second)
}

// TestAPodStartIsOneWrite counts the requests for a thousand pods that start, and those after a restart, and logs what they cost: the
// processor time of all of netloom but its database, with and without the gate.
func TestAPodStartIsOneWrite(t *testing.T) {
	const pods = 1000
	var without, with time.Duration
	withRig(t, func(d *rig) {
		d.off = true
		d.start()
		before := processorTime(t)
		d.podStarts(pods)
		without = processorTime(t) - before
		require.Empty(t, d.client.Actions())
	})
	withRig(t, func(d *rig) {
		d.start()
		before := processorTime(t)
		d.podStarts(pods)
		with = processorTime(t) - before
		writes := d.writes()
		require.Len(t, writes, pods)
		for i, w := range writes {
			require.Equal(t, fmt.Sprintf("web-%03d %s", i, installed), w)
		}
		require.Len(t, d.client.Actions(), pods, "no other request")
		require.Less(t, d.target.marks, 50, "marks are for many pods")
		t.Logf("%d pod starts: %s without the gate, %s with it", pods, without, with)

		d.stop()
		d.start()
		d.after(time.Hour)
		require.Empty(t, d.writes(), "a restart")
		require.Empty(t, d.made.Degraded())
	})
}

// TestTheWatchMayLag checks that a version of the pod from before the write does not cause another one.
func TestTheWatchMayLag(t *testing.T) {
	withRig(t, func(d *rig) {
		d.start()
		d.lag = true
		d.pod("web-0", "web", "10.0.0.2", "", func(p *corev1.Pod) { p.ResourceVersion = "1" })
		d.after(5 * time.Second)
		require.Len(t, d.writes(), 1)
		d.pod("web-0", "web", "10.0.0.2", "", func(p *corev1.Pod) { p.ResourceVersion = "2"; p.Labels["more"] = "1" })
		d.after(5 * time.Second)
		require.Empty(t, d.writes(), "older than the write")
		d.pod("web-0", "web", "10.0.0.2", "", func(p *corev1.Pod) { p.ResourceVersion = "900" })
		d.after(5 * time.Second)
		require.Len(t, d.writes(), 1, "someone removed the condition")
	})
}

// TestOthersChangeTheCondition has somebody else set and remove the condition of pods, which is no change to translate.
func TestOthersChangeTheCondition(t *testing.T) {
	withRig(t, func(d *rig) {
		d.target.set(func(p *peer) { p.missing = []string{"web-0", "web-1"} })
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "")
		d.after(10 * time.Second)
		of := func(name string, status corev1.ConditionStatus) *corev1.Pod {
			found, _ := d.source.Get(object.Ref{Kind: object.KindPod, Namespace: "shop", Name: name})
			p := found.(*corev1.Pod).DeepCopy()
			p.Spec.ReadinessGates, p.Status.Conditions, p.ResourceVersion = nil, nil, "200"
			source.SetGate(p, gate, status)
			return p
		}
		d.condition(of("web-0", corev1.ConditionTrue))
		d.target.set(func(p *peer) { p.missing = nil })
		d.policy("other", 1) // a round
		d.after(10 * time.Second)
		require.Empty(t, d.writes(), "it is True")

		d.condition(of("web-0", ""))
		d.after(10 * time.Second)
		require.Equal(t, []string{"web-0 True Installed: installed: NetworkPolicy shop/other generation 1, NetworkPolicy shop/shield generation 3"}, d.writes())

		was := of("web-0", corev1.ConditionTrue)
		d.pod("web-1", "web", "10.0.0.3", corev1.ConditionTrue)
		d.after(time.Second)
		was.UID = "of-another"
		d.condition(was)
		d.after(time.Minute)
		require.Empty(t, d.writes(), "another pod has the name, of which the next snapshot says")
		d.made.Conditioned(object.Ref{Kind: object.KindPod, Namespace: "shop", Name: "unknown"})
	})
}

// TestTheCoverageOfARoundIsAwaited checks that the end of a round does not count before it is known which pods it lacks.
func TestTheCoverageOfARoundIsAwaited(t *testing.T) {
	withRig(t, func(d *rig) {
		d.target.set(func(p *peer) { p.missing = []string{"web-9"} })
		d.start()
		d.slow = 3 * time.Second // that the plan lacks one pod in place of another is not reported before
		d.target.set(func(p *peer) { p.missing = []string{"web-0"} })
		d.pod("web-0", "web", "10.0.0.2", "")
		d.after(time.Second)
		d.pod("db-0", "db", "10.0.0.3", "") // has all pods looked at
		d.after(time.Minute)
		require.Equal(t, []string{"db-0 True NotSelected: no policy selects the pod"}, d.writes())
	})
}

// TestAPodWhoseInitContainersRun has an address and is pending: what waits in an init container for the condition gets it.
func TestAPodWhoseInitContainersRun(t *testing.T) {
	withRig(t, func(d *rig) {
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })
		d.after(5 * time.Second)
		require.Equal(t, []string{"web-0 " + installed}, d.writes())
	})
}

// TestPodsThatNoPolicySelects are ready at once, and so are those on the host network. Pods without the gate are left alone.
func TestPodsThatNoPolicySelects(t *testing.T) {
	withRig(t, func(d *rig) {
		d.start()
		d.pod("db-0", "db", "10.0.0.3", "")
		d.pod("host", "web", "192.168.0.1", "", func(p *corev1.Pod) { p.Spec.HostNetwork = true })
		d.pod("done", "web", "10.0.0.4", "", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		d.source.Put(pipelinetest.Pod("plain", "web", "n1", "10.0.0.5"))
		d.after(5 * time.Second)
		require.Equal(t, []string{
			"db-0 True NotSelected: no policy selects the pod", "host True HostNetwork: policies do not select pods on the host network",
		}, d.writes())
		require.Zero(t, d.target.marks)
	})
}

// TestATargetThatReportsNothing makes pods ready once their rows are written, and says so.
func TestATargetThatReportsNothing(t *testing.T) {
	withRig(t, func(d *rig) {
		d.written = true
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "")
		d.after(5 * time.Second)
		require.Equal(t, []string{"web-0 True Written: written: NetworkPolicy shop/shield generation 3"}, d.writes())
	})
}

// TestAPolicyThatChangesMakesItsPodsWait checks that a pod waits for the policy as it is when it becomes ready.
func TestAPolicyThatChangesMakesItsPodsWait(t *testing.T) {
	withRig(t, func(d *rig) {
		d.target.set(func(p *peer) { p.automatic = false })
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "")
		d.after(5 * time.Second)
		require.Equal(t, 1, d.target.marks)
		d.policy("shield", 4)
		d.after(5 * time.Second)
		d.target.set(func(p *peer) { p.through = 1 })
		d.after(5 * time.Second)
		require.Empty(t, d.writes(), "the first version is installed")
		d.target.set(func(p *peer) { p.through = 2 })
		d.after(5 * time.Second)
		require.Equal(t, []string{"web-0 True Installed: installed: NetworkPolicy shop/shield generation 4"}, d.writes())
	})
}

// TestTheReasonIsWrittenOnce checks that a pod that waits for long shows why, once, and becomes ready after that.
func TestTheReasonIsWrittenOnce(t *testing.T) {
	withRig(t, func(d *rig) {
		d.target.set(func(p *peer) { p.automatic = false })
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "")
		d.target.set(func(p *peer) { p.missing = []string{"web-1"} })
		d.pod("web-1", "web", "10.0.0.3", "")
		d.after(time.Minute)
		require.Empty(t, d.writes())
		require.Len(t, d.made.Degraded(), 1)
		require.Contains(t, d.made.Degraded()[0], "degraded: 1 pods with the readiness gate netloom.io/network-policy have waited for ovn for 1m")
		require.Contains(t, d.made.Degraded()[0], "ovn-controller on at least one chassis")
		d.after(time.Hour)
		require.Equal(t, []string{
			"web-0 False Installing: ovn: written, waits for ovn-controller on at least one chassis; selected by NetworkPolicy shop/shield generation 3",
			"web-1 False PodsWithoutPort: ovn: it does not know the pod: no logical port shop_web-1; selected by NetworkPolicy shop/shield generation 3",
		}, d.writes())
		d.stop()
		d.start()
		d.after(time.Hour)
		require.Empty(t, d.writes(), "a restart")
		d.target.set(func(p *peer) { p.automatic = true })
		d.after(5 * time.Second)
		require.Equal(t, []string{"web-0 " + installed}, d.writes())
		require.Empty(t, d.made.Degraded())
	})
}

// TestALostMarkIsMadeAgain checks that a database that was restored from a copy does not make pods wait forever.
func TestALostMarkIsMadeAgain(t *testing.T) {
	withRig(t, func(d *rig) {
		d.target.set(func(p *peer) { p.automatic, p.newest, p.through = false, 50, 50 })
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "")
		d.after(5 * time.Second)
		d.target.set(func(p *peer) { p.newest, p.through = 10, 10 })
		d.after(5 * time.Second)
		require.Empty(t, d.writes())
		d.target.set(func(p *peer) { require.Equal(t, uint64(11), p.newest); p.through = 11 })
		d.after(5 * time.Second)
		require.Equal(t, []string{"web-0 " + installed}, d.writes())
	})
}

// TestNothingIsTakenBackWhileTheTargetIsAway checks that ready pods stay ready while their target cannot be reached and after a restart
// without it, and that new pods wait.
func TestNothingIsTakenBackWhileTheTargetIsAway(t *testing.T) {
	withRig(t, func(d *rig) {
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "")
		d.after(5 * time.Second)
		require.Equal(t, []string{"web-0 " + installed}, d.writes())

		d.target.set(func(p *peer) { p.err, p.missing = errors.New("no route to host"), []string{"web-0", "web-1"} })
		d.pod("web-1", "web", "10.0.0.3", "")
		d.after(time.Minute)
		require.Empty(t, d.writes())
		d.stop()
		d.start()
		d.after(time.Minute)
		require.Empty(t, d.writes())
		d.after(time.Hour)
		require.Len(t, d.writes(), 1, "only the reason of the new pod")

		d.target.set(func(p *peer) { p.err, p.missing = nil, nil })
		d.after(time.Minute)
		require.Equal(t, []string{"web-1 " + installed}, d.writes())
	})
}

// TestAPodKnownToBeUnprotectedBecomesUnready checks the grace, the share, and the way back.
func TestAPodKnownToBeUnprotectedBecomesUnready(t *testing.T) {
	withRig(t, func(d *rig) {
		for i := range 4 {
			d.pod(fmt.Sprint("web-", i), "web", fmt.Sprint("10.0.0.", i+2), corev1.ConditionTrue)
		}
		d.start()
		lose := func(names ...string) {
			d.target.set(func(p *peer) { p.missing = names })
			d.policy("round", int64(len(names))+100)
		}
		lose("web-0")
		d.after(time.Minute)
		lose()
		d.after(time.Hour)
		require.Empty(t, d.writes(), "it was back within the grace")

		lose("web-0", "web-1", "web-2")
		d.after(time.Minute)
		require.Empty(t, d.writes())
		d.after(2 * time.Minute)
		const lacks = " False PodsWithoutPort: ovn does not know the pod: no logical port shop_"
		require.Equal(t, []string{"web-0" + lacks + "web-0", "web-1" + lacks + "web-1"}, d.writes(), "no more than half of them")
		require.Equal(t, []string{
			"degraded: 1 of 4 pods with the readiness gate netloom.io/network-policy are unprotected and stay ready: more than max-delete-fraction at once",
		}, d.made.Degraded())
		d.after(time.Hour)
		require.Empty(t, d.writes())
		d.stop()
		d.start()
		d.after(time.Hour)
		require.Empty(t, d.writes(), "after a restart neither")

		lose("web-2")
		d.after(10 * time.Second)
		const back = ": NetworkPolicy shop/round generation 101, NetworkPolicy shop/shield generation 3"
		require.Equal(t, []string{"web-0 True Installed: installed" + back, "web-1 True Installed: installed" + back, "web-2" + lacks + "web-2"}, d.writes())
	})
}

// TestAMissingPermissionIsReportedOnce checks that a refusal costs a few requests, not one for each pod, and that all pods are ready once the
// permission is there.
func TestAMissingPermissionIsReportedOnce(t *testing.T) {
	withRig(t, func(d *rig) {
		d.fail(func(name string) error {
			return apierrors.NewForbidden(corev1.Resource("pods"), name, errors.New("pods/status"))
		})
		d.start()
		for i := range 100 {
			d.pod(fmt.Sprintf("web-%03d", i), "web", fmt.Sprint("10.0.0.", i+2), "")
		}
		d.after(10 * time.Minute)
		require.Less(t, len(d.writes()), 40)
		require.Equal(t, 1, d.errors("conditions of pods cannot be written"))
		require.Len(t, d.made.Degraded(), 1)
		require.Contains(t, d.made.Degraded()[0], "degraded: when it last tried, netloom was not allowed to patch pods/status: ")
		d.fail(nil)
		d.after(time.Minute)
		require.Len(t, d.writes(), 100)
		require.Empty(t, d.made.Degraded())
	})
}

// TestOnePodOnly checks that an error of one pod does not delay others.
func TestOnePodOnly(t *testing.T) {
	withRig(t, func(d *rig) {
		d.fail(func(name string) error {
			if name == "web-0" {
				return apierrors.NewBadRequest("no")
			}
			return nil
		})
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "")
		d.pod("web-1", "web", "10.0.0.3", "")
		d.after(5 * time.Second)
		require.Len(t, d.writes(), 2)
		require.Empty(t, d.made.Degraded())
		d.after(5 * time.Minute)
		require.Less(t, len(d.writes()), 15, "it is tried now and then")
	})
}

// TestAGateThatNobodyServes checks that pods with the gate are reported where readiness is switched off.
func TestAGateThatNobodyServes(t *testing.T) {
	withRig(t, func(d *rig) {
		d.off = true
		d.start()
		require.Empty(t, d.made.Degraded())
		d.pod("web-0", "web", "10.0.0.2", "")
		d.after(time.Hour)
		require.Empty(t, d.writes())
		require.Equal(t, []string{
			"degraded: 1 pods have the readiness gate netloom.io/network-policy and cannot become ready: readiness is switched off",
		}, d.made.Degraded())
	})
}

// TestANodesNetloomSetsTheConditionsOfItsPods checks that each node's netloom leaves the pods of other nodes to theirs.
func TestANodesNetloomSetsTheConditionsOfItsPods(t *testing.T) {
	withRig(t, func(d *rig) {
		d.node = "n1"
		d.start()
		d.pod("web-0", "web", "10.0.0.2", "")
		d.pod("web-1", "web", "10.0.0.3", "", func(p *corev1.Pod) { p.Spec.NodeName = "n2" })
		d.after(5 * time.Second)
		require.Equal(t, []string{"web-0 " + installed}, d.writes())
	})
}

// TestNoControllerDoesNothing checks that nil can be used.
func TestNoControllerDoesNothing(t *testing.T) {
	var d rig
	require.NoError(t, d.made.Run(context.Background()))
	require.Empty(t, d.made.Degraded())
}

// processorTime is what this process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
