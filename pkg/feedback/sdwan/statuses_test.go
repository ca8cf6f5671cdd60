package sdwan_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/object"
)

const ruleFinalizer = "rule.finalizers.sdewan.akraino.org"

func TestAnObjectSaysHowFarItHasCome(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.CNF("cnf-1", "10.0.0.2")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.Writes()
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.After(2 * time.Second)
		s := r.Rule("web").Status
		require.Equal(t, v1alpha1.InSync, s.State)
		require.True(t, s.InSync)
		require.EqualValues(t, 1, s.AppliedGeneration)
		require.NotEmpty(t, s.AppliedVersion)
		require.Len(t, s.Pods, 2)
		require.Equal(t, []string{ruleFinalizer}, r.Rule("web").Finalizers)
		require.Equal(t, []string{"Mwan3Rule web", "Mwan3Rule web status"}, r.Writes(), "one write of each")
		require.Contains(t, r.Recorded(), "Normal Applied all pods of the CNF have it: cnf-0, cnf-1")

		at := s.AppliedTime
		r.After(time.Hour)
		require.Empty(t, r.Writes(), "nothing changes, nothing is written")
		require.Empty(t, r.Recorded())
		r.Apply(sdwantest.Rule("web", "10.2.0.0/24"))
		r.After(2 * time.Second)
		require.EqualValues(t, 2, r.Rule("web").Status.AppliedGeneration)
		require.True(t, at.Before(r.Rule("web").Status.AppliedTime))
	})
}

func TestAPodThatIsNotReadyResetsTheStatus(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		d := r.CNF("cnf-1", "10.0.0.2")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		r.Pod("cnf-1", "10.0.0.2", sdwantest.NotReady)
		r.After(2 * time.Second)
		s := r.Rule("web").Status
		require.Equal(t, v1alpha1.Applying, s.State)
		require.Empty(t, s.AppliedVersion)
		require.Equal(t, "pod cnf-1: the pod is not ready", s.Message)
		require.Equal(t, v1alpha1.InSync, s.Pods[0].State)

		r.Remove("Mwan3Rule", "web")
		r.After(10 * time.Minute)
		require.NotNil(t, r.Rule("web"), "it is not gone before the pod has been asked")
		require.Equal(t, v1alpha1.Deleting, r.Rule("web").Status.State)
		require.Contains(t, r.Recorded(), "Normal Deleting waiting for pod cnf-1: the pod is not ready")
		r.Pod("cnf-1", "10.0.0.2")
		r.After(3 * time.Second)
		require.Nil(t, r.Rule("web"))
		require.Zero(t, sdwantest.RulesTo(d, "10.1.0.0/24"))
	})
}

func TestWithoutANetworkFunctionThereIsNothingToKeepAnObject(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		require.Empty(t, r.Rule("web").Finalizers)
		require.Equal(t, "NoCNF", r.Rule("web").Status.Conditions[1].Reason)
		r.Remove("Mwan3Rule", "web")
		r.After(time.Second)
		require.Nil(t, r.Rule("web"))
	})
}

func TestWhatADeviceRefusesIsReported(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24")) // of a policy that is not there
		r.start()
		s := r.Rule("web").Status
		require.Equal(t, v1alpha1.Applying, s.State)
		require.Contains(t, s.Message, "pod cnf-0: ")
		require.Equal(t, "Refused", s.Conditions[1].Reason)
		require.Contains(t, r.Recorded(), "Warning Refused")
		r.Apply(sdwantest.Policy("both"))
		r.After(2 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
	})
}

func TestWhatCannotBeUnderstoodIsReported(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "not an address"))
		r.start()
		s := r.Rule("web").Status
		require.Equal(t, metav1.ConditionFalse, s.Conditions[0].Status)
		require.Contains(t, s.Message, "spec.dest_ip")
		require.Contains(t, r.Recorded(), "Warning NotAccepted spec.dest_ip")
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.After(2 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
	})
}

func TestAWriteThatComesTooLateIsRepeated(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		var conflicts atomic.Int32
		r.Fail(func(clienttesting.PatchAction) error {
			if conflicts.Add(1) > 1 {
				return nil
			}
			return apierrors.NewConflict(schema.GroupResource{}, "web", errors.New("changed"))
		})
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.After(700 * time.Millisecond)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State, "at once, not after a pause")
		require.Positive(t, r.Metric("netloom_status_writes_total", "conflict"))
	})
}

func TestWhatTheSourceHasNotDeliveredYetIsKnown(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Late = time.Second
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.Writes()
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.After(5 * time.Second)
		r.Pod("cnf-0", "10.0.0.1", sdwantest.NotReady)
		r.After(500 * time.Millisecond)
		r.Pod("cnf-0", "10.0.0.1")
		r.After(500 * time.Millisecond)
		stored := r.Stored(object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: "web"})
		state, _, _ := unstructured.NestedString(stored.Object, "status", "state")
		require.Equal(t, string(v1alpha1.InSync), state, "what was written is known before it comes back")
		r.After(5 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
		require.Zero(t, r.Metric("netloom_status_writes_total", "conflict"))
	})
}

func TestForeignChangesStay(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		ref := object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: "web"}
		o := r.Stored(ref)
		o.SetAnnotations(map[string]string{"note": "mine"})
		o.SetFinalizers([]string{"others.example.org/keep"})
		delete(o.Object, "status")
		r.Store(ref, o)
		r.After(2 * time.Second)
		require.Equal(t, "mine", r.Rule("web").Annotations["note"])
		require.Equal(t, []string{"others.example.org/keep", ruleFinalizer}, r.Rule("web").Finalizers)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
	})
}

func TestWithoutThePermissionToWriteAllElseGoesOn(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		var tries atomic.Int64
		r.Fail(func(clienttesting.PatchAction) error {
			tries.Add(1)
			return apierrors.NewForbidden(schema.GroupResource{}, "web", errors.New("no"))
		})
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
		require.Positive(t, r.Metric("netloom_status_writes_total", "forbidden"))
		before := tries.Load()
		r.After(time.Hour)
		require.Less(t, tries.Load()-before, int64(60), "it is tried more and more rarely")
		r.Fail(nil)
		r.After(10 * time.Minute)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
	})
}

func TestAnAPIThatHangsDelaysNoPod(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Fail(func(clienttesting.PatchAction) error {
			time.Sleep(time.Minute)
			return errors.New("gone")
		})
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.After(2 * time.Second)
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
	})
}

func TestADirectoryIsNotWrittenTo(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Options.Dynamic = nil
		r.Options.StatusInterval = 30 * time.Second
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		r.After(time.Minute)
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
		require.Empty(t, r.Writes())
		require.Empty(t, r.Client.Actions())
	})
}

func TestTwoNetworkFunctionsOfOnePurpose(t *testing.T) {
	inBubble(t, func(r *rig) {
		owned := func(by string) func(*corev1.Pod) {
			return func(p *corev1.Pod) {
				controller := true
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: by, Controller: &controller}}
			}
		}
		a, b := r.CNF("cnf-0", "10.0.0.1", owned("one")), r.CNF("cnf-1", "10.0.0.2", owned("two"))
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.After(2 * time.Second)
		require.Equal(t, v1alpha1.Unknown, r.Rule("web").Status.State)
		require.Equal(t, "Conflict", r.Rule("web").Status.Conditions[1].Reason)
		require.Zero(t, a.Connections()+b.Connections())
	})
}

func TestADirtyAPIIsNotFloodedByABurst(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.Writes()
		for i := range 50 {
			r.Apply(sdwantest.Rule("web-"+strings.Repeat("x", i+1), "10.1.0.0/24"))
		}
		r.After(3 * time.Second)
		require.Len(t, r.Writes(), 100, "a finalizer and a status each")
	})
}

func TestASlowPodIsWaitedFor(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		d.Delay(2 * time.Second)
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.After(2 * time.Second)
		require.Equal(t, v1alpha1.Applying, r.Rule("web").Status.State)
		require.Equal(t, "pod cnf-0: not written yet", r.Rule("web").Status.Message)
		r.After(20 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
	})
}

func TestWhatTheAPIDeletesIsDeletedHoweverMuchItIs(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		for i := range 30 {
			r.Apply(sdwantest.Rule("web-"+strings.Repeat("x", i+1), "10.1.0.0/24"))
		}
		r.start()
		require.Equal(t, 30, sdwantest.RulesTo(r.Devices["10.0.0.1"], "10.1.0.0/24"))
		for i := range 30 {
			r.Remove("Mwan3Rule", "web-"+strings.Repeat("x", i+1))
		}
		r.After(5 * time.Second)
		require.Zero(t, sdwantest.RulesTo(r.Devices["10.0.0.1"], "10.1.0.0/24"))
		require.Nil(t, r.Rule("web-x"))
	})
}
