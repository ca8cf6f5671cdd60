package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/policy"
)

type watchInterface = apiwatch.Interface

func portNumber(n int) *intstr.IntOrString {
	out := intstr.FromInt(n)
	return &out
}

var errDown = fmt.Errorf("dial: connection refused: %w", backends.ErrUnreachable)

func TestAPolicySaysWhetherItIsEnforced(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("db", 1, 80)
		d.start()
		require.Equal(t, "True Enforced 1", d.says("db"))
		s := d.status("db")
		require.EqualValues(t, 1, s.Status.Subjects)
		require.Equal(t, "1/1", s.Status.EnforcedTargets)
		require.Equal(t, "ovn", s.Status.Targets[0].Name)
		require.Len(t, s.OwnerReferences, 1)
		require.EqualValues(t, "uid-of-db", s.OwnerReferences[0].UID)
		require.Equal(t, "NetworkPolicy", s.OwnerReferences[0].Kind)
		require.Equal(t, []string{"db  by netloom", "db status by netloom"}, d.writes())

		d.after(time.Hour)
		require.Empty(t, d.writes(), "nothing changes, nothing is written")

		d.policy("db", 2, 81)
		d.after(time.Second)
		require.Equal(t, "True Enforced 2", d.says("db"))
		require.Equal(t, []string{"db status by netloom"}, d.writes(), "one write: it was written before the first status")
	})
}

func TestAChangedPolicyIsEnforcedOnceItIsWritten(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("db", 1, 80)
		d.policy("other", 1, 80)
		d.start()
		d.writes()
		d.backend.set(errDown)
		d.policy("db", 2, 81)
		d.after(10 * time.Second)
		require.Equal(t, "False Trouble 1", d.says("db"))
		require.EqualValues(t, 2, d.status("db").Status.ObservedGeneration)
		require.EqualValues(t, 1, d.status("db").Status.Targets[0].Generation)
		require.Contains(t, d.status("db").Status.Targets[0].Message, "connection refused")
		require.Equal(t, "True Enforced 1", d.says("other"), "it is in force until known otherwise")
		require.Equal(t, []string{"db status by netloom"}, d.writes(), "one write for all attempts")

		d.after(policy.StaleAfter)
		require.Equal(t, "Unknown Unreachable 1", d.says("other"))
		require.Equal(t, "Unknown Unreachable 1", d.says("db"))
		d.backend.set(nil)
		d.after(10 * time.Second)
		require.Equal(t, "True Enforced 2", d.says("db"))
		require.Equal(t, "True Enforced 1", d.says("other"))
	})
}

func TestARestartWritesNothing(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("db", 1, 80)
		d.start()
		d.after(time.Minute)
		before := d.status("db")
		d.writes()
		d.recorded()
		d.stop()
		d.source.Again()
		d.start()
		d.after(time.Minute)
		require.Empty(t, d.writes())
		require.Empty(t, d.recorded())
		require.Equal(t, before, d.status("db"))

		d.stop()
		d.policy("db", 2, 81)
		d.source.Again()
		d.start()
		require.Equal(t, "True Enforced 2", d.says("db"))
		require.Equal(t, []string{"Normal Translated generation 2 is translated", "Normal Enforced generation 2 is enforced by ovn"}, d.recorded())
	})
}

func TestSizesAreReportedOnceInAWhile(t *testing.T) {
	withRig(t, func(d *rig) {
		for i := range 20 {
			d.policy(fmt.Sprintf("db-%d", i), 1, 80+i)
		}
		d.start()
		d.after(time.Minute)
		d.writes()
		for i := range 400 { // 40 s
			d.source.Put(podAt(fmt.Sprintf("web-%d", 1+i), "web", fmt.Sprintf("10.0.%d.%d", 1+i/200, 1+i%200)))
			d.after(100 * time.Millisecond)
			o := d.status("db-0") // edited all the time
			o.Labels, o.ResourceVersion = map[string]string{"touched": fmt.Sprint(i)}, fmt.Sprintf("t%d", i)
			d.put(o)
		}
		n := len(d.writes())
		require.LessOrEqual(t, n, 20*5, "each policy once in %s", policy.SizeInterval)
		require.GreaterOrEqual(t, n, 20*3)
		d.after(policy.SizeInterval + time.Second)
		require.EqualValues(t, 401, d.status("db-7").Status.Peers[0].Pods)
		require.EqualValues(t, 401, d.status("db-7").Status.Peers[0].Addresses)
		d.writes()
		d.after(time.Hour)
		require.Empty(t, d.writes())
	})
}

func TestAThousandPoliciesDoNotFloodTheServer(t *testing.T) {
	withRig(t, func(d *rig) {
		const policies = 1000
		for i := range policies {
			d.policy(fmt.Sprintf("p-%d", i), 1, 1000+i)
		}
		d.start()
		seen := len(d.writes())
		for range 30 {
			d.after(time.Second)
			n := len(d.writes())
			require.LessOrEqual(t, n, policy.WriteRate+1)
			seen += n
		}
		d.policy("p-500", 2, 7)
		d.after(time.Second)
		require.Equal(t, "True Enforced 2", d.says("p-500"), "what is new comes first")
		d.after(time.Minute)
		seen += len(d.writes())
		require.InDelta(t, 2*policies, seen, 1, "two for each, and one for the edit if it was not its first")
		d.after(time.Hour)
		require.Empty(t, d.writes())
		require.LessOrEqual(t, len(d.recorded()), 2, "what was there at the start has no events")
	})
}

func TestNothingIsReportedBeforeATargetHasAnswered(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("db", 1, 80)
		d.start()
		d.stop()
		d.writes()
		d.source.Again()
		d.broken = errDown
		d.start()
		d.policy("db", 2, 81)
		d.after(policy.StaleAfter - 10*time.Second)
		require.Empty(t, d.writes(), "what it said stands")
		d.after(20 * time.Second)
		require.Equal(t, "Unknown Unreachable 1", d.says("db"))
		d.backend.set(nil)
		d.after(10 * time.Second)
		require.Equal(t, "True Enforced 2", d.says("db"))
	})
}

func TestADeletedStatusComesBack(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("db", 1, 80)
		d.start()
		since := d.status("db").Status.Targets[0].Since
		d.after(time.Minute)
		d.remove("db")
		d.after(2 * time.Second)
		require.Equal(t, "True Enforced 1", d.says("db"))
		require.Equal(t, since, d.status("db").Status.Targets[0].Since)

		d.writes()
		d.source.Remove(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}})
		d.after(time.Minute)
		require.Empty(t, d.writes(), "the garbage collector takes it away")
		d.remove("db")
		d.after(time.Minute)
		require.Empty(t, d.writes())
	})
}

func TestAPolicyOfTheSameNameIsAnother(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("db", 7, 80)
		d.start()
		require.Equal(t, "True Enforced 7", d.says("db"))
		d.source.Remove(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}})
		d.after(2 * time.Second)
		d.policy("db", 1, 80, func(p *networkingv1.NetworkPolicy) { p.UID = "another" })
		d.after(2 * time.Second)
		require.Equal(t, "True Enforced 1", d.says("db"))
		require.Len(t, d.status("db").OwnerReferences, 1)
		require.EqualValues(t, "another", d.status("db").OwnerReferences[0].UID)
	})
}

func TestForeignChangesAreOverwritten(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("db", 1, 80)
		d.start()
		o := d.status("db")
		o.Status.EnforcedGeneration = 99
		o.ResourceVersion = "7777"
		d.put(o)
		d.after(2 * time.Second)
		require.Equal(t, "True Enforced 1", d.says("db"))
	})
}

func TestARightThatIsMissingDegrades(t *testing.T) {
	for what, tc := range map[string]struct {
		fails func(clienttesting.Action) error
		want  string
	}{
		"to patch": {func(a clienttesting.Action) error {
			if a.GetVerb() == "patch" {
				return apierrors.NewForbidden(policyStatuses.GroupResource(), "db", nil)
			}
			return nil
		}, "degraded: PolicyStatus objects cannot be written: "},
		"to read, or the CRD": {func(a clienttesting.Action) error {
			if a.GetVerb() != "patch" {
				return apierrors.NewNotFound(policyStatuses.GroupResource(), "")
			}
			return nil
		}, "degraded: PolicyStatus objects cannot be read, so none are written: "},
	} {
		t.Run(what, func(t *testing.T) {
			withRig(t, func(d *rig) {
				d.policy("db", 1, 80)
				d.fail(tc.fails)
				d.start()
				d.after(time.Minute)
				require.Contains(t, d.ready(), "ok\n"+tc.want)
				require.NotEmpty(t, d.rows.Rows("netloom"), "policies are enforced all the same")
				require.Nil(t, d.status("db"))
				d.policy("db", 2, 81)
				d.after(35 * time.Second) // a forbidden write delays what comes after it
				require.Contains(t, d.recorded(), "Normal Enforced generation 2 is enforced by ovn")
				tries := 0
				d.fail(func(a clienttesting.Action) error {
					tries++
					return tc.fails(a)
				})
				d.after(10 * time.Minute)
				require.NotZero(t, tries)
				require.LessOrEqual(t, tries, 50, "it is tried again with pauses")
				d.fail(nil)
				d.after(2 * time.Minute)
				require.Equal(t, "True Enforced 2", d.says("db"))
				require.Equal(t, "ok\n", d.ready())
			})
		})
	}
}

func TestPolicyEventsAreRecordedOnce(t *testing.T) {
	withRig(t, func(d *rig) {
		faulty := func(p *networkingv1.NetworkPolicy) {
			p.Annotations = map[string]string{"netloom.io/acl-logging": "nonsense"}
		}
		d.policy("db", 1, 80)
		d.policy("odd", 1, 80, faulty)
		d.start()
		recorded := d.recorded()
		require.Len(t, recorded, 1, "of what was there at the start, only its problems")
		require.Contains(t, recorded[0], "Warning Problem metadata.annotations[netloom.io/acl-logging]: ")
		require.Equal(t, "False Problem 1", d.says("odd"))
		require.Equal(t, "metadata.annotations[netloom.io/acl-logging]", d.status("odd").Status.Problems[0].Field)

		d.policy("odd", 1, 80) // which makes no new generation
		d.after(2 * time.Second)
		require.Equal(t, "True Enforced 1", d.says("odd"))
		d.policy("odd", 1, 80, faulty)
		d.after(2 * time.Second)
		require.Len(t, d.recorded(), 1)
		d.policy("db", 2, 81)
		d.policy("new", 1, 80)
		d.after(2 * time.Second)
		require.ElementsMatch(t, []string{
			"Normal Translated generation 2 is translated", "Normal Enforced generation 2 is enforced by ovn",
			"Normal Translated generation 1 is translated", "Normal Enforced generation 1 is enforced by ovn",
		}, d.recorded())
		d.backend.set(errDown)
		d.after(10 * time.Minute)
		d.backend.set(nil)
		d.after(10 * time.Minute)
		require.Empty(t, d.recorded())
	})
}

func TestEventsNeedNoPolicyStatus(t *testing.T) {
	withRig(t, func(d *rig) {
		d.mute = true
		d.start()
		d.policy("db", 1, 80)
		d.source.Put(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"},
				Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
			},
		})
		d.after(2 * time.Second)
		require.ElementsMatch(t, []string{
			"Normal Translated generation 1 is translated", "Normal Enforced generation 1 is enforced by ovn",
			"Normal LoadBalanced ovn load balances tcp/10.96.0.1:80",
		}, d.recorded())
		d.after(time.Hour)
		require.Empty(t, d.recorded())
		require.Empty(t, d.writes())
	})
}

func TestTheNetloomsOfNodesWriteOneObject(t *testing.T) {
	withRig(t, func(d *rig) {
		d.source.Put(nodeNamed("n1"), nodeNamed("n2"))
		d.policy("db", 1, 80)
		d.node = "n1"
		d.start()
		first := d.status("db").Status
		require.Equal(t, "False Writing 0", d.says("db"))
		require.Equal(t, "1/2", first.EnforcedTargets)
		require.Equal(t, "node n2 has not reported yet", condition(&first).Message)
		require.Equal(t, []string{"db  by netloom", "db status by netloom/n1", "db status by netloom"}, d.writes())
		other := d.second(nil)
		other.policy("db", 1, 80)
		other.start()
		defer func() { other.stop() }()
		d.after(5 * time.Second)
		s := d.status("db").Status
		require.Len(t, s.Targets, 2)
		require.Equal(t, "2/2", s.EnforcedTargets)
		d.writes()
		d.after(time.Hour)
		require.Empty(t, d.writes(), "they do not overwrite each other")

		other.backend.set(errDown)
		d.policy("db", 2, 81)
		other.policy("db", 2, 81)
		d.after(5 * time.Second)
		s = d.status("db").Status
		require.Equal(t, "1/2", s.EnforcedTargets)
		require.Equal(t, "False Trouble 1", d.says("db"))
		require.True(t, strings.HasPrefix(condition(&s).Message, "ovn/n2: "), condition(&s).Message)
		other.backend.set(nil)
		d.after(10 * time.Second)
		require.Equal(t, "True Enforced 2", d.says("db"))
		require.Equal(t, "2/2", d.status("db").Status.EnforcedTargets)
		d.writes()
		d.after(time.Hour)
		require.Empty(t, d.writes())
	})
}

func condition(s *v1alpha1.PolicyStatusStatus) metav1.Condition {
	for _, c := range s.Conditions {
		if c.Type == v1alpha1.ConditionEnforced {
			return c
		}
	}
	return metav1.Condition{}
}

// TestPolicyStatusObjectsAreConfirmed compares what is read with the API while this instance writes, and says when it could not.
func TestPolicyStatusObjectsAreConfirmed(t *testing.T) {
	withRig(t, func(d *rig) {
		d.policy("web", 1, 80)
		d.start()
		require.Equal(t, "True Enforced 1", d.says("web"))
		require.Nil(t, d.made.View(), "nothing has been compared yet")
		d.after(2 * time.Minute)
		proof := d.made.View().Proof()
		require.Equal(t, "policystatuses.netloom.io", proof.Resource)
		require.Less(t, time.Since(proof.Confirmed), 67*time.Second)

		d.fail(func(a clienttesting.Action) error {
			if a.GetVerb() == "list" {
				return errDown
			}
			return nil
		})
		d.after(4 * time.Minute)
		proof = d.made.View().Proof()
		require.True(t, proof.IsLate(time.Now(), time.Now()))
		require.Contains(t, proof.Fault, "connection refused")
		d.fail(nil)
		d.after(70 * time.Second)
		proof = d.made.View().Proof()
		require.False(t, proof.IsLate(time.Now(), time.Now()))
		require.Equal(t, "ok\n", d.ready())

		d.stop()
		require.Nil(t, d.made.View(), "another instance writes them")
	})
}
