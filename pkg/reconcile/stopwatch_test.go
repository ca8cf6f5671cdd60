package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// marking is a target whose work takes a known time between its marks: it plans for 3 ms, puts operations in order for 2 ms, and makes two
// transactions, each for 1 ms, of which the database takes 10 and 20 ms.
type marking struct{ silent bool }

func (m *marking) pass(ctx context.Context, mark backends.Mark) {
	if !m.silent {
		backends.Pass(ctx, mark)
	}
}

func (m *marking) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	time.Sleep(3 * time.Millisecond)
	m.pass(ctx, backends.Planned)
	time.Sleep(2 * time.Millisecond)
	return &backends.Plan{Revision: want.Revision(), Full: since == 0, Ops: []backends.Op{{Verb: backends.Create, Kind: "row"}}}, nil
}

func (m *marking) Apply(ctx context.Context, _ *backends.Plan) error {
	for _, answer := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond} {
		time.Sleep(time.Millisecond)
		m.pass(ctx, backends.Sent)
		time.Sleep(answer)
		m.pass(ctx, backends.Answered)
	}
	return nil
}

func (m *marking) Close() error { return nil }

// TestARoundMeasuresItsStages runs one round on a target that passes marks, and on one that passes none.
func TestARoundMeasuresItsStages(t *testing.T) {
	for _, tc := range []struct {
		name                              string
		silent                            bool
		planned, ordered, sent, committed int // ms
	}{
		{"a target that passes marks", false, 3, 2, 2, 30},
		{"a target that passes none", true, 5, 0, 0, 32},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				snapshot := intent.NewSnapshot().Next().Commit()
				loop := reconcile.New(&marking{tc.silent}, func() *intent.Snapshot { return snapshot }, reconcile.Options{MaxDeleteFraction: 1})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- loop.Run(ctx) }()
				time.Sleep(time.Second)
				cancel()
				require.NoError(t, <-done)
				require.Len(t, loop.Rounds(), 1)
				r := loop.Rounds()[0]
				want := []time.Duration{time.Duration(tc.planned), time.Duration(tc.ordered), time.Duration(tc.sent), time.Duration(tc.committed)}
				for i, got := range []time.Duration{r.Planned, r.Ordered, r.Sent, r.Committed} {
					require.Equal(t, want[i]*time.Millisecond, got, "stage %d", i)
				}
			})
		})
	}
}
