package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// annotate puts objects with the annotation; "" is none.
func (s *stage) annotate(value string, all ...object.Ref) {
	annotations := map[string]string{}
	if value != "" {
		annotations[object.EnforcementAnnotation] = value
	}
	var changes []source.Change
	for _, r := range all {
		if r.Kind == object.KindNamespace {
			s.there[r] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Name, Annotations: annotations}}
		} else {
			s.there[r] = made(r)
			s.there[r].(metav1.Object).SetAnnotations(annotations) //nolint:forcetypeassert // every object here is one
		}
		changes = append(changes, source.Change{Ref: r})
	}
	s.take(changes...)
}

// TestStagedPoliciesCountApart: all policies that are enforced are lost, and staged ones that stay make that no less suspicious.
func TestStagedPoliciesCountApart(t *testing.T) {
	namespace := object.Ref{Kind: object.KindNamespace, Name: "shop"}
	for name, stage := range map[string]func(*stage){
		"by themselves": func(s *stage) { s.annotate(object.EnforcementStaged, policies(4, 20)...) },
		"staged later": func(s *stage) {
			s.put(policies(4, 20)...)
			s.annotate(object.EnforcementStaged, policies(4, 20)...)
		},
		"with their namespace": func(s *stage) {
			s.annotate(object.EnforcementEnforced, policies(0, 4)...)
			s.put(policies(4, 20)...)
			s.annotate(object.EnforcementStaged, namespace)
		},
		"in a namespace that is read later": func(s *stage) {
			s.annotate(object.EnforcementStaged, namespace)
			s.annotate(object.EnforcementEnforced, policies(0, 4)...)
			s.put(policies(4, 20)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, retention.Options{})
			s.put(policies(0, 4)...)
			stage(s)
			s.lose(policies(0, 3)...)
			require.Equal(t, policies(0, 3), s.kept(), "three of four are lost")
			s.lose(policies(4, 5)...)
			require.Equal(t, policies(0, 3), s.kept(), "one staged policy of many may go")
		})
	}
}

// TestBecomingStagedIsNoLoss: policies that become staged are still there, and those that are left are judged by their own number.
func TestBecomingStagedIsNoLoss(t *testing.T) {
	namespace := object.Ref{Kind: object.KindNamespace, Name: "shop"}
	s := newStage(t, retention.Options{})
	s.put(policies(0, 10)...)
	s.annotate(object.EnforcementStaged, policies(0, 9)...)
	s.pass(2 * time.Second)
	require.Empty(t, s.kept())
	require.Len(t, s.ledger.Refs(), 10)

	s.annotate("", policies(0, 9)...)
	s.annotate(object.EnforcementStaged, namespace)
	s.annotate("", namespace)
	s.lose(policies(0, 4)...)
	require.Empty(t, s.kept(), "four of ten that are enforced again")
	s.lose(policies(4, 8)...)
	require.Equal(t, policies(4, 8), s.kept(), "eight of ten")
	s.annotate(object.EnforcementStaged, namespace)
	s.ledger.Approve(policies(4, 8))
	require.Empty(t, s.kept())
	s.annotate("", namespace)
	s.remove(policies(8, 9)...)
	s.lose(policies(9, 10)...)
	require.Equal(t, policies(9, 10), s.kept(), "the last one that is enforced")
}
