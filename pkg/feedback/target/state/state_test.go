package state_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

func TestATargetHasWhatHasNotChangedSince(t *testing.T) {
	first := intent.NewSnapshot().Next()
	first.CreateSet(&intent.Set{ID: "a"})
	old := first.Commit()
	second := old.Next()
	second.CreateSet(&intent.Set{ID: "b"})
	now := second.Commit()
	for _, tc := range []struct {
		name   string
		target state.Target
		all    bool
		behind []intent.SetID
	}{
		{"in sync", state.Target{Revision: now.Revision()}, false, nil},
		{"ahead of the snapshot", state.Target{Revision: now.Revision() + 1}, false, nil},
		{"behind", state.Target{Revision: old.Revision()}, false, []intent.SetID{"b"}},
		{"never in sync", state.Target{}, true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			facts := state.Facts{Snapshot: now}
			lag := facts.Lag(&tc.target)
			require.Equal(t, tc.all, lag.All)
			if tc.all {
				return
			}
			require.Len(t, lag.Behind.Sets, len(tc.behind))
			for _, id := range tc.behind {
				require.True(t, lag.Behind.Sets[id])
			}
		})
	}
}

func TestARefusalIsNoRemark(t *testing.T) {
	facts := state.Facts{Snapshot: intent.NewSnapshot()}
	lag := facts.Lag(&state.Target{Skips: []backends.Skip{
		{Intent: "a", Reason: "cannot be expressed"}, {Intent: "b", Reason: "in use", InEffect: true},
	}})
	for id, want := range map[string][2]string{"a": {"cannot be expressed", ""}, "b": {"", "in use"}, "c": {"", ""}} {
		refusal, refused := lag.Refusal(id)
		remark, remarked := lag.Remark(id)
		require.Equal(t, want, [2]string{refusal, remark})
		require.Equal(t, want[0] != "", refused)
		require.Equal(t, want[1] != "", remarked)
	}
}

func TestProblemsAreThoseOfTheirObject(t *testing.T) {
	a, b := object.Ref{Kind: "Service", Name: "a"}, object.Ref{Kind: "Service", Name: "b"}
	facts := state.Facts{Problems: []object.Problem{{Ref: a, Message: "1"}, {Ref: b, Message: "2"}, {Ref: a, Message: "3"}}}
	require.Equal(t, map[object.Ref][]object.Problem{
		a: {{Ref: a, Message: "1"}, {Ref: a, Message: "3"}}, b: {{Ref: b, Message: "2"}},
	}, facts.ProblemsOf())
}

func TestAConditionKeepsItsTimeWhileItsStatusStays(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	later := metav1.NewTime(noon.Add(time.Hour))
	had := []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: noon},
		{Type: "Accepted", Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: noon},
	}
	got := state.Dated([]metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse}, {Type: "Accepted", Status: metav1.ConditionTrue}, {Type: "New", Status: metav1.ConditionTrue},
	}, had, 2, later)
	require.Equal(t, []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: 2, LastTransitionTime: later},
		{Type: "Accepted", Status: metav1.ConditionTrue, ObservedGeneration: 2, LastTransitionTime: noon},
		{Type: "New", Status: metav1.ConditionTrue, ObservedGeneration: 2, LastTransitionTime: later},
	}, got)
	require.Equal(t, &got[1], state.Condition(got, "Accepted"))
	require.Nil(t, state.Condition(got, "Other"))
}
