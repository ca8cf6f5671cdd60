package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/object"
)

func lacking(names ...string) backends.Gaps {
	var gaps []backends.Gap
	for _, name := range names {
		gaps = append(gaps, backends.Gap{Endpoint: object.Key{Namespace: "shop", Name: name}, Lacks: "logical port shop_" + name})
	}
	return backends.Gaps{}.With(gaps, nil)
}

// TestAPolicyIsNotEnforcedOnPodsWithoutAPort checks that it says so, though all its rows are written.
func TestAPolicyIsNotEnforcedOnPodsWithoutAPort(t *testing.T) {
	s := newScene(t)
	s.pod("db-0", "db", "10.0.0.1")
	s.pod("db-1", "db", "10.0.0.2")
	s.pod("db-2", "db", "10.0.0.3")
	s.pod("web-0", "web", "10.0.0.4")
	p := s.policy(1, "web", 80)
	was := s.world(s.synced()).Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "True Enforced", enforced(&was))

	partly := s.synced()
	partly.Missing = lacking("web-0")
	got := s.world(partly).Status(p, &was)
	require.Equal(t, "True Enforced", enforced(&got), "of a pod that it does not select")

	partly.Missing = lacking("db-1", "web-0")
	w := s.world(partly)
	got = w.Status(p, &was)
	require.Equal(t, "False PodsWithoutPort", enforced(&got))
	require.Equal(t, "2 of 3 selected pods are enforced; not enforced: shop/db-1 (no logical port shop_db-1)", got.Targets[0].Message)
	require.Equal(t, "ovn: "+got.Targets[0].Message, condition(&got, v1alpha1.ConditionEnforced).Message)
	require.EqualValues(t, 1, got.Targets[0].MissingSubjects)
	require.Equal(t, "0/1", got.EnforcedTargets)
	require.True(t, w.Settled(&got))
	require.Equal(t, report.Meaning, report.Compare(&was, &got))
	require.Equal(t, []state.Note{{Warning: true, Reason: report.ReasonPodsWithoutPort, Message: "ovn: " + got.Targets[0].Message}}, w.Notes(&was, &got))

	partly.Missing = lacking("db-1", "db-2")
	w = s.world(partly)
	more := w.Status(p, &got)
	require.Equal(t, report.Sizes, report.Compare(&got, &more), "how many there are is written once in a while")
	require.Empty(t, w.Notes(&got, &more))

	partly.Skips = []backends.Skip{{Intent: "NetworkPolicy/shop/db/ingress", Reason: "no SCTP here"}}
	got = s.world(partly).Status(p, &more)
	require.Equal(t, "False PodsWithoutPort", enforced(&got), "what is skipped is denied, but these pods are open")

	w = s.world(s.synced())
	whole := w.Status(p, &more)
	require.Equal(t, "True Enforced", enforced(&whole))
	require.Equal(t, []state.Note{{Reason: report.ReasonEnforced, Message: "generation 1 is enforced by ovn"}}, w.Notes(&more, &whole))
}
