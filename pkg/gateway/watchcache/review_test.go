package watchcache_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/netloom/netloom/pkg/gateway/watchcache"
)

// opinion is an authorizer whose answer changes.
type opinion struct {
	atomic.Int32 // authorizer.Decision
	fails        atomic.Bool
	asked        atomic.Int32
}

// Authorize is for the cache.
func (o *opinion) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	o.asked.Add(1)
	if o.fails.Load() {
		return authorizer.DecisionNoOpinion, "", errors.New("no answer")
	}
	return authorizer.Decision(o.Load()), "", nil
}

// TestAWatchEndsWithThePermissionForIt takes it away while a watch is open. Only a clear refusal counts.
func TestAWatchEndsWithThePermissionForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		may := &opinion{}
		may.Store(int32(authorizer.DecisionAllow))
		r := newRig(t, func(c *watchcache.Config) { c.Authorizer, c.ReviewInterval = may, 4*time.Minute })
		c := r.ask("/api/v1/pods", watchList(filter{}))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.False(t, c.ended())
		require.EqualValues(t, 2, may.asked.Load(), "once at the beginning, once after four to five minutes")

		may.fails.Store(true)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.False(t, c.ended(), "nobody can say whether it is allowed")
		require.GreaterOrEqual(t, may.asked.Load(), int32(3))

		may.fails.Store(false)
		may.Store(int32(authorizer.DecisionNoOpinion))
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		require.True(t, c.ended())
		events := c.events()
		require.NotContains(t, events[len(events)-1], "ERROR", "the client asks again, and the upstream says why")
	})
}
