package feedback_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/feedback"
)

// TestRefusalsLastUntilTheRightIsThere checks that any other answer of the API ends a refusal.
func TestRefusalsLastUntilTheRightIsThere(t *testing.T) {
	var r feedback.Refusals
	events := schema.GroupResource{Resource: "events"}
	r.Note("patch b", nil)
	require.Empty(t, r.Degraded())
	r.Note("patch b", apierrors.NewForbidden(events, "x", nil))
	r.Note("patch a", apierrors.NewForbidden(events, "x", nil))
	require.Equal(t, []string{
		`degraded: when it last tried, netloom was not allowed to patch a: events "x" is forbidden: <nil>`,
		`degraded: when it last tried, netloom was not allowed to patch b: events "x" is forbidden: <nil>`,
	}, r.Degraded(), "in the order of their names")
	r.Note("patch a", context.DeadlineExceeded)
	require.Len(t, r.Degraded(), 2, "no answer says nothing")
	r.Note("patch a", apierrors.NewConflict(events, "x", nil))
	r.Note("patch b", nil)
	require.Empty(t, r.Degraded())
	(*feedback.Refusals)(nil).Note("nothing", nil)
	require.Empty(t, (*feedback.Refusals)(nil).Degraded())
}
