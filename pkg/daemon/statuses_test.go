package daemon_test

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
	"github.com/netloom/netloom/pkg/object"
)

const ruleFinalizer = "rule.finalizers.sdewan.akraino.org"

func (r *rig) fail(f func(clienttesting.PatchAction) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = f
}

func TestAnObjectSaysHowFarItHasCome(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		r.cnf("cnf-1", "10.0.0.2")
		r.apply(wanPolicy("both"))
		r.start()
		r.writes()
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.after(2 * time.Second)
		s := r.rule("web").Status
		require.Equal(t, v1alpha1.InSync, s.State)
		require.True(t, s.InSync)
		require.EqualValues(t, 1, s.AppliedGeneration)
		require.NotEmpty(t, s.AppliedVersion)
		require.Len(t, s.Pods, 2)
		require.Equal(t, []string{ruleFinalizer}, r.rule("web").Finalizers)
		require.Equal(t, []string{"Mwan3Rule web", "Mwan3Rule web status"}, r.writes(), "one write of each")
		require.Contains(t, r.told(), "Normal Applied all pods of the CNF hold it: cnf-0, cnf-1")

		at := s.AppliedTime
		r.after(time.Hour)
		require.Empty(t, r.writes(), "nothing changes, nothing is written")
		require.Empty(t, r.told())
		r.apply(wanRule("web", "10.2.0.0/24"))
		r.after(2 * time.Second)
		require.EqualValues(t, 2, r.rule("web").Status.AppliedGeneration)
		require.True(t, at.Before(r.rule("web").Status.AppliedTime))
	})
}

func TestAPodThatIsNotReadyTakesBackWhatWasSaid(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		d := r.cnf("cnf-1", "10.0.0.2")
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		r.pod("cnf-1", "10.0.0.2", notReady)
		r.after(2 * time.Second)
		s := r.rule("web").Status
		require.Equal(t, v1alpha1.Applying, s.State)
		require.Empty(t, s.AppliedVersion)
		require.Equal(t, "pod cnf-1: the pod is not ready", s.Message)
		require.Equal(t, v1alpha1.InSync, s.Pods[0].State)

		r.remove("Mwan3Rule", "web")
		r.after(10 * time.Minute)
		require.NotNil(t, r.rule("web"), "it is not gone before the pod has been asked")
		require.Equal(t, v1alpha1.Deleting, r.rule("web").Status.State)
		require.Contains(t, r.told(), "Normal Deleting waiting for pod cnf-1: the pod is not ready")
		r.pod("cnf-1", "10.0.0.2")
		r.after(3 * time.Second)
		require.Nil(t, r.rule("web"))
		require.Zero(t, holds(d, "10.1.0.0/24"))
	})
}

func TestWithoutANetworkFunctionThereIsNothingToKeepAnObject(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		require.Empty(t, r.rule("web").Finalizers)
		require.Equal(t, "NoCNF", r.rule("web").Status.Conditions[1].Reason)
		r.remove("Mwan3Rule", "web")
		r.after(time.Second)
		require.Nil(t, r.rule("web"))
	})
}

func TestWhatADeviceRefusesIsTold(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanRule("web", "10.1.0.0/24")) // of a policy that is not there
		r.start()
		s := r.rule("web").Status
		require.Equal(t, v1alpha1.Applying, s.State)
		require.Contains(t, s.Message, "pod cnf-0: ")
		require.Equal(t, "Refused", s.Conditions[1].Reason)
		require.Contains(t, r.told(), "Warning Refused")
		r.apply(wanPolicy("both"))
		r.after(2 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State)
	})
}

func TestWhatCannotBeUnderstoodIsTold(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "not an address"))
		r.start()
		s := r.rule("web").Status
		require.Equal(t, metav1.ConditionFalse, s.Conditions[0].Status)
		require.Contains(t, s.Message, "spec.dest_ip")
		require.Contains(t, r.told(), "Warning NotAccepted spec.dest_ip")
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.after(2 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State)
	})
}

func TestAWriteThatComesTooLateIsDoneAnew(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.start()
		var conflicts atomic.Int32
		r.fail(func(clienttesting.PatchAction) error {
			if conflicts.Add(1) > 1 {
				return nil
			}
			return apierrors.NewConflict(schema.GroupResource{}, "web", errors.New("changed"))
		})
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.after(700 * time.Millisecond)
		require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State, "at once, not after a pause")
		require.Positive(t, r.metric("netloom_status_writes_total", "conflict"))
	})
}

func TestWhatTheSourceHasNotDeliveredYetIsKnown(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.late = time.Second
		r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.start()
		r.writes()
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.after(5 * time.Second)
		r.pod("cnf-0", "10.0.0.1", notReady)
		r.after(500 * time.Millisecond)
		r.pod("cnf-0", "10.0.0.1")
		r.after(500 * time.Millisecond)
		stored := r.stored(object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: "web"})
		state, _, _ := unstructured.NestedString(stored.Object, "status", "state")
		require.Equal(t, string(v1alpha1.InSync), state, "what was written is known before it comes back")
		r.after(5 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State)
		require.Zero(t, r.metric("netloom_status_writes_total", "conflict"))
	})
}

func TestSomebodyElsesWriteStands(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		ref := object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: "web"}
		o := r.stored(ref)
		o.SetAnnotations(map[string]string{"note": "mine"})
		o.SetFinalizers([]string{"others.example.org/keep"})
		delete(o.Object, "status")
		r.store(ref, o)
		r.after(2 * time.Second)
		require.Equal(t, "mine", r.rule("web").Annotations["note"])
		require.Equal(t, []string{"others.example.org/keep", ruleFinalizer}, r.rule("web").Finalizers)
		require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State)
	})
}

func TestWithoutThePermissionToWriteAllElseGoesOn(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.cnf("cnf-0", "10.0.0.1")
		var tries atomic.Int64
		r.fail(func(clienttesting.PatchAction) error {
			tries.Add(1)
			return apierrors.NewForbidden(schema.GroupResource{}, "web", errors.New("no"))
		})
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		require.Equal(t, 1, holds(d, "10.1.0.0/24"))
		require.Positive(t, r.metric("netloom_status_writes_total", "forbidden"))
		before := tries.Load()
		r.after(time.Hour)
		require.Less(t, tries.Load()-before, int64(60), "it is tried more and more rarely")
		r.fail(nil)
		r.after(10 * time.Minute)
		require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State)
	})
}

func TestAnAPIThatHangsHoldsUpNoPod(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.cnf("cnf-0", "10.0.0.1")
		r.fail(func(clienttesting.PatchAction) error {
			time.Sleep(time.Minute)
			return errors.New("gone")
		})
		r.apply(wanPolicy("both"))
		r.start()
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.after(2 * time.Second)
		require.Equal(t, 1, holds(d, "10.1.0.0/24"))
	})
}

func TestADirectoryIsNotWrittenTo(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.opts.SDWAN.Dynamic = nil
		r.opts.SDWAN.StatusInterval = 30 * time.Second
		d := r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		r.after(time.Minute)
		require.Equal(t, 1, holds(d, "10.1.0.0/24"))
		require.Empty(t, r.writes())
		require.Empty(t, r.client.Actions())
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
		a, b := r.cnf("cnf-0", "10.0.0.1", owned("one")), r.cnf("cnf-1", "10.0.0.2", owned("two"))
		r.apply(wanPolicy("both"))
		r.start()
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.after(2 * time.Second)
		require.Equal(t, v1alpha1.Unknown, r.rule("web").Status.State)
		require.Equal(t, "Conflict", r.rule("web").Status.Conditions[1].Reason)
		require.Zero(t, a.Connections()+b.Connections())
	})
}

func TestADirtyAPIIsNotFloodedByABurst(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.start()
		r.writes()
		for i := range 50 {
			r.apply(wanRule("web-"+strings.Repeat("x", i+1), "10.1.0.0/24"))
		}
		r.after(3 * time.Second)
		require.Len(t, r.writes(), 100, "a finalizer and a status each")
	})
}

func TestASlowPodIsWaitedFor(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.start()
		d.Delay(2 * time.Second)
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.after(2 * time.Second)
		require.Equal(t, v1alpha1.Applying, r.rule("web").Status.State)
		require.Equal(t, "pod cnf-0: not written yet", r.rule("web").Status.Message)
		r.after(20 * time.Second)
		require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State)
	})
}

func TestWhatTheAPIDeletesIsDeletedHoweverMuchItIs(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		for i := range 30 {
			r.apply(wanRule("web-"+strings.Repeat("x", i+1), "10.1.0.0/24"))
		}
		r.start()
		require.Equal(t, 30, holds(r.devices["10.0.0.1"], "10.1.0.0/24"))
		for i := range 30 {
			r.remove("Mwan3Rule", "web-"+strings.Repeat("x", i+1))
		}
		r.after(5 * time.Second)
		require.Zero(t, holds(r.devices["10.0.0.1"], "10.1.0.0/24"))
		require.Nil(t, r.rule("web-x"))
	})
}
