//go:build e2e

package e2ekube_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestDrillStreams has readers of the web page's event stream that stop reading, many more than it serves, while policies change.
func TestDrillStreams(t *testing.T) {
	t.Parallel()
	const readers, served = 400, 32
	ui := ovnlab.FreeAddress(t)
	f := newFilesDrillIn(t, t.TempDir(), "--ui-listen", ui)
	before := peakOf(f.netloom.PID())
	f.denied(0)

	var accepted, refused atomic.Int64
	var clients sync.WaitGroup
	for range readers {
		clients.Go(func() {
			c, err := new(net.Dialer).DialContext(t.Context(), "tcp", ui)
			if err != nil {
				refused.Add(1)
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			_ = c.(*net.TCPConn).SetReadBuffer(1024) // it fills up soon
			_, _ = c.Write([]byte("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"))
			status, err := bufio.NewReaderSize(c, 16).ReadString('\n')
			if err == nil && strings.Contains(status, " 200 ") {
				accepted.Add(1)
			} else {
				refused.Add(1)
			}
		})
	}
	clients.Wait()
	require.EqualValues(t, served, accepted.Load())
	require.EqualValues(t, readers-served, refused.Load())

	var slowest time.Duration
	for k := 1; k < 6; k++ {
		began := time.Now()
		f.denied(k)
		slowest = max(slowest, time.Since(began))
	}
	f.relabelled(7)
	await.True(t, func() bool {
		f.running()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ui+"/api/v1/overview", http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode == http.StatusOK
	}, "the page is served")
	require.Less(t, peakOf(f.netloom.PID())-before, int64(64<<20))
	reportDrill(t, f.netloom.PID(), fmt.Sprintf("%d readers of the web page's events stop reading", readers), "nothing", fmt.Sprintf("the slowest of 5: %v", slowest.Round(time.Millisecond)),
		fmt.Sprintf("nothing: %d streams are served, others get 503, and the page is answered", served))
}
