package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

func TestTheBacklogIsBoundedAndNeverTooYoung(t *testing.T) {
	began := time.Unix(0, 0)
	b := backlog{}
	for i := range 50_000 {
		b.take(began.Add(time.Duration(i) * time.Second))
		b.publish(intent.Revision(i+1), intent.Revision(i))
	}
	require.LessOrEqual(t, len(b.waiting), 4096)
	require.Equal(t, began, b.oldest(0))
	for _, reached := range []int{1, 777, 25_000, 49_999} {
		require.False(t, b.oldest(intent.Revision(reached)).After(began.Add(time.Duration(reached)*time.Second)), "%d", reached)
	}
	require.True(t, b.oldest(50_000).IsZero())
	b.take(began)
	b.publish(50_000, 50_000)
	require.True(t, b.oldest(50_000).IsZero(), "a change without consequence is in force")
}
