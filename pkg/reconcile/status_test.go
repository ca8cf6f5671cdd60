package reconcile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

func skip(intents ...string) []backends.Skip {
	var out []backends.Skip
	for _, i := range intents {
		out = append(out, backends.Skip{Intent: i})
	}
	return out
}

func TestMergeSkips(t *testing.T) {
	b := intent.NewSnapshot().Next()
	b.CreateSet(&intent.Set{ID: "a"})
	b.CreateSet(&intent.Set{ID: "b"})
	first := b.Commit()
	b = first.Next()
	b.DropSet("a")
	b.PutPolicy(&intent.Policy{ID: "p"})
	second := b.Commit()

	for _, tc := range []struct {
		name  string
		known []backends.Skip
		plan  backends.Plan
		was   *intent.Snapshot
		want  []backends.Skip
	}{
		{"a plan from read-back knows all", skip("a", "b"), backends.Plan{Full: true, Skips: skip("p")}, nil, skip("p")},
		{"what was not looked at stays", skip("b"), backends.Plan{Skips: skip("p")}, first, skip("b", "p")},
		{"what was looked at and is fine goes", skip("a", "p"), backends.Plan{}, first, nil},
		{"what was looked at and is not fine stays once", skip("p"), backends.Plan{Skips: skip("p")}, first, skip("p")},
		{"nothing changed", skip("b"), backends.Plan{}, second, skip("b")},
		{"nothing was in sync before", skip("b"), backends.Plan{Skips: skip("p")}, nil, skip("p")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, mergeSkips(tc.known, &tc.plan, second, tc.was))
		})
	}
}

func TestPausesAfterErrorsStayInBounds(t *testing.T) {
	for failures := range 200 {
		d := backoff(3, 1000, failures)
		require.GreaterOrEqual(t, d, time.Duration(min(1000, 3<<min(failures, 20))))
		require.LessOrEqual(t, jitter(d), d)
		require.GreaterOrEqual(t, jitter(d), d-d/4)
	}
	require.Positive(t, backoff(1<<62, 1<<62, 5))
}
