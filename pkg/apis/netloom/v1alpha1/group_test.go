package v1alpha1_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
)

func TestSchemeKnowsTheKind(t *testing.T) {
	s := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(s))
	for _, kind := range []string{v1alpha1.KindPolicyStatus, v1alpha1.KindPolicyStatus + "List"} {
		_, err := s.New(v1alpha1.GroupVersion.WithKind(kind))
		require.NoError(t, err)
	}
}

func TestAStatusSurvivesJSON(t *testing.T) {
	at := metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 5, 0, time.Local))
	full := &v1alpha1.PolicyStatus{Status: v1alpha1.PolicyStatusStatus{
		ObservedGeneration: 3, EnforcedGeneration: 2, EnforcedTargets: "0/1", Subjects: 4, ProblemCount: 1,
		Problems:   []v1alpha1.PolicyProblem{{Field: "spec", Message: "wrong"}},
		Peers:      []v1alpha1.PolicyPeer{{Rule: "spec.ingress[0]", Selects: "pods", Pods: 1, Addresses: 2, Blocks: 3}},
		Targets:    []v1alpha1.PolicyTarget{{Name: "ovn", Generation: 2, Since: &at, Revision: 7, Reason: "Writing", Message: "m", Rows: 3, Subjects: 4}},
		Conditions: []metav1.Condition{{Type: "Enforced", Status: "False", Reason: "Writing", LastTransitionTime: at}},
	}}
	text, err := json.Marshal(full)
	require.NoError(t, err)
	again := &v1alpha1.PolicyStatus{}
	require.NoError(t, json.Unmarshal(text, again))
	require.Equal(t, full, again)
	dup := full.DeepCopy()
	dup.Status.Targets[0].Since.Time = time.Time{}
	require.Equal(t, at, *full.Status.Targets[0].Since)
}
