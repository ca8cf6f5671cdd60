package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// TestWhatIsNotEvaluatedIsLookedForAgain follows a cluster that gets a policy of another project, and is slow and unreachable for a while.
func TestWhatIsNotEvaluatedIsLookedForAgain(t *testing.T) {
	t.Parallel()
	nothing, some := &source.Undelivered{}, &source.Undelivered{Objects: []json.RawMessage{
		json.RawMessage(`{"apiVersion":"cilium.io/v2","kind":"CiliumNetworkPolicy","metadata":{"name":"a","namespace":"shop"}}`),
	}}
	failed := &source.Undelivered{Unlisted: []source.Unlisted{{Cause: "no route to host"}}}
	synctest.Test(t, func(t *testing.T) {
		var told []*source.Undelivered
		looks, answer, slow := 0, nothing, time.Duration(0)
		b := &beyond{
			interval: time.Minute,
			tell:     func(found *source.Undelivered) { told = append(told, found) },
			look: func(ctx context.Context) (*source.Undelivered, error) {
				looks++
				select {
				case <-time.After(slow):
				case <-ctx.Done():
				}
				if answer == nil {
					return nil, errors.New("no route to host")
				}
				return answer, nil
			},
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		b.refresh(gone)
		require.Equal(t, []*source.Undelivered{nothing}, told, "it serves those who still wait")
		answer = some
		time.Sleep(59 * time.Second)
		b.refresh(t.Context())
		require.Equal(t, 1, looks, "what was found is still good")
		time.Sleep(time.Second)
		b.refresh(t.Context())
		require.Equal(t, []*source.Undelivered{nothing, some}, told)

		answer, slow = nil, time.Hour
		time.Sleep(time.Minute)
		began := time.Now()
		b.refresh(t.Context())
		require.Equal(t, lookWait, time.Since(began), "nobody waits longer")
		require.Equal(t, []*source.Undelivered{nothing, some, failed}, told)
		time.Sleep(lookShare*lookWait - time.Second)
		b.refresh(t.Context())
		require.Equal(t, 3, looks, "a slow server is asked less often")
		answer, slow = nothing, 0
		time.Sleep(time.Second)
		b.refresh(t.Context())
		b.refresh(t.Context())
		require.Equal(t, []*source.Undelivered{nothing, some, failed, nothing}, told, "only what is new")
		require.Equal(t, 4, looks)
	})
}
