package watchcache_test

import (
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBookmarksHaveTheFormOfTheUpstreams reads bookmarks of before and after the upstream has sent one.
func TestBookmarksHaveTheFormOfTheUpstreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.api.write(change{ns: "a", key: "p", app: "web", node: "n"})
		first := r.ask("/api/v1/pods", watchList(filter{}))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.True(t, strings.HasSuffix(first.text(), `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"101",`+
			`"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}}`+"\n"), "%s", first.text())

		time.Sleep(2 * time.Minute) // the upstream sends a bookmark each minute
		synctest.Wait()
		second := r.ask("/api/v1/pods", watchList(filter{}))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Contains(t, second.text(), `{"kind":"Pod","metadata":{"resourceVersion":"101","annotations":{"k8s.io/initial-events-end":"true"}}}`,
			"this upstream has another form")
	})
}

// TestTheLastBookmarkComesBeforeTheEnd requires that a client can resume a watch that has ended with its time limit.
func TestTheLastBookmarkComesBeforeTheEnd(t *testing.T) {
	for timeout, want := range map[string]int{"10": 1, "2": 0, "1": 0} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.api.write(change{ns: "a", key: "p", app: "web", node: "n"})
			c := r.ask("/api/v1/pods", url.Values{"watch": {"1"}, "resourceVersion": {"101"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {timeout}})
			c.wait()
			require.Len(t, c.events(), want, "%s s", timeout)
			if want > 0 {
				require.Equal(t, "BOOKMARK 101", c.events()[0])
			}
		})
	}
}
