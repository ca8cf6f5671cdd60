//go:build e2e

package e2ekube_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
)

// TestDrillClock sets the clock of netloom's machine an hour ahead, back, an hour behind, and right again. Only netloom's process sees it:
// see shiftClock. Changes are enforced as before, netloom stays the leader, and nothing that it says about the past is off by an hour.
func TestDrillClock(t *testing.T) {
	t.Parallel()
	d := newDrill(t, "confirm-interval: 1s\n")
	for k, by := range []time.Duration{time.Hour, 0, -time.Hour, 0} {
		shiftClock(t, d.netloom.PID(), by)
		d.awaitClock(by)
		d.denied(isolating(k, "free"), toPod(k, freePod))
		d.relabelled(4 + k)
		said, err := d.netloom.Get("/readyz")
		require.NoError(t, err)
		require.NotContains(t, said, "degraded")
		require.NotContains(t, said, "h0m") // nothing was confirmed an hour ago
		require.Contains(t, d.metrics(), `netloom_target_up{target="ovn"} 1`)
		require.Contains(t, d.metrics(), "netloom_leader 1")
		require.Empty(t, d.kept().Objects)
	}
	reportDrill(t, d.netloom.PID(), "the clock of netloom's machine jumps: an hour ahead, back, an hour behind, and back", "nothing", "–", "nothing: changes are enforced, and ages are right")
}

// awaitClock waits until netloom has confirmed pods at a time that differs from that of this machine.
func (d *drill) awaitClock(by time.Duration) {
	d.t.Helper()
	await.True(d.t, func() bool {
		d.netloom.Running()
		d.witness.check()
		for line := range strings.Lines(d.metrics()) {
			if !strings.HasPrefix(line, `netloom_view_confirmed_timestamp_seconds{cluster="",resource="pods"}`) {
				continue
			}
			fields := strings.Fields(line)
			at, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			require.NoError(d.t, err)
			off := at - float64(time.Now().Add(by).Unix())
			return off > -1800 && off < 1800
		}
		return false
	}, "netloom's clock is off by %v", by)
}
