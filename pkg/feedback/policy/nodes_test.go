package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/policy"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
)

// second is the netloom of node n2, where d is that of n1. Its target may be broken from the start.
func (d *rig) second(broken error) *rig {
	other := &rig{T: d.T, source: pipelinetest.New(), client: d.client, events: d.events, rows: newRows(), api: d.api, guard: d.guard}
	other.source.Put(pipelinetest.Namespace("shop"), nodeNamed("n1"), nodeNamed("n2"), podAt("db-0", "db", "10.0.0.1"), pipelinetest.Pod("db-1", "db", "n2", "10.0.0.3"))
	other.source.Sync()
	other.node, other.broken = "n2", broken
	return other
}

// first makes d the netloom of node n1, of two.
func (d *rig) first() {
	d.source.Put(nodeNamed("n1"), nodeNamed("n2"), pipelinetest.Pod("db-1", "db", "n2", "10.0.0.3"))
	d.node = "n1"
	d.policy("db", 1, 80)
}

func TestANodeThatHasNotReportedEnforcesNothing(t *testing.T) {
	withRig(t, func(d *rig) {
		d.first()
		other := d.second(errDown)
		other.policy("db", 1, 80)
		other.start()
		defer func() { other.stop() }()
		d.start()
		d.after(time.Minute)
		require.Equal(t, "False Writing 0", d.says("db"))
		s := d.status("db").Status
		require.Equal(t, "1/2", s.EnforcedTargets)
		require.Equal(t, "node n2 has not reported yet", condition(&s).Message)
		d.after(2 * time.Minute)
		require.Equal(t, "Unknown Unreachable 0", d.says("db"))
		other.backend.set(nil)
		d.after(10 * time.Second)
		require.Equal(t, "True Enforced 1", d.says("db"))
	})
}

func TestReportsOnAnEarlierPolicyOfTheNameDoNotCount(t *testing.T) {
	withRig(t, func(d *rig) {
		d.first()
		other := d.second(nil)
		other.policy("db", 1, 80)
		other.start()
		d.start()
		d.after(10 * time.Second)
		require.Equal(t, "True Enforced 1", d.says("db"))
		since := d.status("db").Status.Targets[0].Since
		other.stop()
		another := func(p *networkingv1.NetworkPolicy) { p.UID = "another" }
		d.policy("db", 1, 9999, another)
		d.after(time.Minute)
		s := d.status("db")
		require.EqualValues(t, "another", s.OwnerReferences[0].UID)
		require.Equal(t, "False Writing 0", d.says("db"))
		require.Equal(t, "1/2", s.Status.EnforcedTargets)
		require.True(t, since.Before(s.Status.Targets[0].Since), "it is another policy that is enforced")
		other.policy("db", 1, 9999, another)
		other.source.Again()
		other.start()
		d.after(10 * time.Second)
		require.Equal(t, "True Enforced 1", d.says("db"))
		require.Equal(t, "2/2", d.status("db").Status.EnforcedTargets)
		other.stop()
	})
}

func TestANodeThatIsGoneDoesNotCount(t *testing.T) {
	withRig(t, func(d *rig) {
		d.first()
		other := d.second(nil)
		other.policy("db", 1, 80)
		other.start()
		d.start()
		other.backend.set(errDown)
		d.policy("db", 2, 81)
		other.policy("db", 2, 81)
		d.after(5 * time.Second)
		require.Equal(t, "False Trouble 1", d.says("db"))
		other.stop()
		d.source.Remove(nodeNamed("n2"))
		d.after(5 * time.Second)
		require.Equal(t, "True Enforced 2", d.says("db"))
		require.Equal(t, "1/1", d.status("db").Status.EnforcedTargets)
		d.source.Put(nodeNamed("n3"))
		d.after(5 * time.Second)
		require.Equal(t, "False Writing 0", d.says("db"))
		require.Equal(t, "1/2", d.status("db").Status.EnforcedTargets)
	})
}

// hanging is a backend whose rounds hang and then fail.
type hanging struct {
	backends.Backend
	on bool
}

func (s *hanging) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if s.on {
		time.Sleep(15 * time.Second)
		return nil, errors.New("timed out")
	}
	return s.Backend.Plan(ctx, want, since)
}

func TestWhatHappenedWhileARoundHungIsReportedAgain(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("db", 1, 80)
		d.start()
		hangs := &hanging{Backend: d.backend.Backend}
		d.backend.Backend = hangs
		d.after(15 * time.Second)
		hangs.on = true
		d.source.Put(podAt("db-9", "db", "10.0.0.9"))
		d.after(10 * time.Second)
		require.Equal(t, "True Enforced 1", d.says("db"), "the round may still end well")
		d.after(10 * time.Second)
		require.Equal(t, "False Trouble 1", d.says("db"))
	})
}

func TestWhatIsWrongInAnObjectIsNotTakenOver(t *testing.T) {
	for _, node := range []string{"", "n1"} {
		withRig(t, func(d *rig) {
			d.source.Put(nodeNamed("n1"))
			d.node = node
			d.policy("db", 1, 80)
			d.start()
			s := d.status("db")
			s.Status.ObservedGeneration, s.ResourceVersion = 999, "9999"
			d.api.version = 9999
			d.put(s)
			d.after(time.Minute)
			require.EqualValues(t, 1, d.status("db").Status.ObservedGeneration)
			require.Equal(t, "True Enforced 1", d.says("db"))
			d.writes()
			d.after(time.Hour)
			require.Empty(t, d.writes())
		})
	}
}

func TestAProblemThatAnotherNodeDidNotSeeIsReported(t *testing.T) {
	for _, node := range []string{"", "n1"} {
		withRig(t, func(d *rig) {
			d.source.Put(nodeNamed("n1"))
			d.node = node
			d.policy("db", 1, 80, func(p *networkingv1.NetworkPolicy) {
				p.Spec.Ingress[0].From = append(p.Spec.Ingress[0].From,
					networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "nonsense"}})
			})
			d.start()
			require.Equal(t, "False Problem 1", d.says("db"))
			problems := d.status("db").Status.Problems
			d.stop()
			s := d.status("db") // as an older netloom writes it
			s.Status.Problems, s.Status.ProblemCount, s.ResourceVersion = nil, 0, "9999"
			d.api.version = 9999
			d.put(s)
			d.source.Again()
			d.start()
			d.after(time.Minute)
			require.Equal(t, "False Problem 1", d.says("db"))
			require.Equal(t, problems, d.status("db").Status.Problems)
			d.writes()
			d.after(time.Hour)
			require.Empty(t, d.writes())
		})
	}
}

func TestNamesOfManagersAreTheirOwn(t *testing.T) {
	long := strings.Repeat("a", 200)
	one, other := policy.ManagerOf(long+".one"), policy.ManagerOf(long+".other")
	require.NotEqual(t, one, other)
	require.Len(t, one, 128)
	require.Equal(t, "netloom/node-a", policy.ManagerOf("node-a"))
}
