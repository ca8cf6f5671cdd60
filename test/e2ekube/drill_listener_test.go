//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestDrillListener opens thousands of connections to netloom's address for probes, and sends 60 kB of an endless header on each. Memory
// is judged, against a fraction of what the headers take.
func TestDrillListener(t *testing.T) {
	t.Parallel()
	const connections, header = 4000, 60_000
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), fmt.Appendf(nil, hangManifest, 1000), 0o600))
	program, err := buildOnce()
	require.NoError(t, err)
	listen := ovnlab.FreeAddress(t)
	netloom := ovnlab.Spawn(t, filepath.Join(t.TempDir(), "netloom.log"), os.Environ(), program, "run", "--manifests", dir,
		"--ovn-nb", "embedded", "--listen", listen, "--debug-listen=")
	up := func() bool { return strings.Contains(metricsAt(t, listen), `netloom_target_up{target="ovn"} 1`) }
	await.True(t, up, "netloom is in sync")
	before := peakOf(netloom.PID())

	text := "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", header)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for range connections / 20 {
				c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", listen)
				if err != nil {
					continue // there are too many
				}
				t.Cleanup(func() { _ = c.Close() })
				_ = c.SetWriteDeadline(time.Now().Add(time.Second))
				_, _ = c.Write([]byte(text)) // it may be closed already
			}
		})
	}
	clients.Wait()
	await.True(t, up, "a probe gets through")
	require.Less(t, peakOf(netloom.PID())-before, int64(connections*header/2))
	reportDrill(t, netloom.PID(), fmt.Sprintf("%d connections send 60 kB of an endless header each", connections), "nothing", "–",
		"log: `there are too many connections`; probes are answered")
}
