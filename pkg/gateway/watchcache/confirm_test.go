package watchcache_test

import (
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway/watchcache"
)

// TestAnEventThatTheUpstreamLosesIsFound has clients that would never hear of a change: their watches end with 410, and their next list has it.
func TestAnEventThatTheUpstreamLosesIsFound(t *testing.T) {
	for name, loss := range map[string]change{
		"created": {ns: "shop", key: "new", app: "web"}, "changed": {ns: "shop", key: "p0", app: "db"}, "deleted": {ns: "shop", key: "p1", deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				for i := range 3 {
					r.api.write(change{ns: "shop", key: fmt.Sprint("p", i), app: "web"})
				}
				watch := r.ask("/api/v1/pods", url.Values{"watch": {"true"}, "resourceVersion": {"0"}})
				synctest.Wait()
				r.api.lose(func() { r.api.write(loss) })
				r.api.write(change{ns: "shop", key: "p2", app: "other"})
				time.Sleep(30 * time.Second)
				synctest.Wait()
				require.False(t, watch.ended(), "nothing shows that an event is missing")
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				require.True(t, watch.ended())
				require.Contains(t, watch.events(), "ERROR 410")
				time.Sleep(5 * time.Second)
				list := r.list(r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait())
				want := map[string]int{"created": 4, "changed": 3, "deleted": 2}[name]
				require.Len(t, list.Items, want)
				time.Sleep(10 * time.Minute)
				require.Zero(t, r.stats().Interrupted, "what is held is confirmed")
			})
		})
	}
}

// TestWhatCannotBeConfirmedIsReported has an upstream whose watch delivers while its lists fail.
func TestWhatCannotBeConfirmedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.api.write(change{ns: "shop", key: "p", app: "web"})
		r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait()
		time.Sleep(2 * time.Minute)
		require.Zero(t, r.stats().Interrupted)
		r.api.refuse(true)
		time.Sleep(4 * time.Minute)
		require.InDelta(t, time.Minute, r.stats().Interrupted, float64(67*time.Second))
		require.NotZero(t, r.stats().Interrupted)
		r.api.refuse(false)
		time.Sleep(67 * time.Second)
		require.Zero(t, r.stats().Interrupted)
	})
}

// stats are those of pods.
func (r *rig) stats() watchcache.KindStats { return r.cache.Stats().Kinds[0] }
