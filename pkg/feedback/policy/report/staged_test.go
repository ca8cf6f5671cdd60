package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

// stage has the policies of the namespace staged or enforced.
func (s *scene) stage(value string) {
	s.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", Annotations: map[string]string{object.EnforcementAnnotation: value},
	}})
}

func TestAStagedPolicyIsNotEnforced(t *testing.T) {
	s := newScene(t)
	s.pod("db-0", "db", "10.0.0.1")
	p := s.policy(1, "web", 80)
	before := s.synced()
	was := s.world(before).Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "True Enforced", enforced(&was))

	s.stage("staged")
	s.translator.Snapshot()
	w := s.world(before)
	writing := w.Status(p, &was)
	require.Equal(t, "False Writing", enforced(&writing), "the target still has the policy")
	require.False(t, w.Settled(&writing))
	require.EqualValues(t, 1, writing.EnforcedGeneration)

	w = s.world(s.synced())
	now := w.Status(p, &writing)
	require.Equal(t, "False Staged", enforced(&now))
	require.Equal(t, "ovn: it is staged: it neither denies nor allows anything", condition(&now, v1alpha1.ConditionEnforced).Message)
	require.Equal(t, "True", string(condition(&now, v1alpha1.ConditionTranslated).Status))
	require.Equal(t, "0/1", now.EnforcedTargets)
	require.Zero(t, now.EnforcedGeneration)
	require.False(t, now.Targets[0].Enforced)
	require.Nil(t, now.Targets[0].Since)
	require.Zero(t, now.Targets[0].Rows)
	require.True(t, w.Settled(&now))
	notes := w.Notes(&writing, &now)
	require.Len(t, notes, 1)
	require.Equal(t, "Staged", notes[0].Reason)
	require.Equal(t, "ovn: it is staged: it neither denies nor allows anything", notes[0].Message)
	require.Empty(t, w.Notes(&now, &now))

	s.stage("stagedd")
	w = s.world(s.synced())
	again := w.Status(p, &now)
	require.Equal(t, "True Enforced", enforced(&again), "the problem is one of the namespace")
	require.EqualValues(t, 1, again.EnforcedGeneration)
	require.Equal(t, "Enforced", w.Notes(&now, &again)[0].Reason)
	require.True(t, now.Targets[0].Since == nil && again.Targets[0].Since != nil)
}
