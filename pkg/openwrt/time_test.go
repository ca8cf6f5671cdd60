package openwrt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// within runs a test with a device and a client of it whose clock stands still unless everything waits.
func within(t *testing.T, run func(t *testing.T, d *simulator.Device, c *openwrt.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, simulator.Options{})
		c := connect(t, d, nil)
		run(t, d, c)
		c.Close()
		d.Close()
	})
}

func TestHungDevice(t *testing.T) {
	for _, tc := range []struct {
		name string
		ask  func(context.Context, *openwrt.Client) error
		want time.Duration
	}{
		{"a read", func(ctx context.Context, c *openwrt.Client) error {
			_, err := c.List(ctx, openwrt.Zones)
			return err
		}, 10 * time.Second},
		{"a status", func(ctx context.Context, c *openwrt.Client) error {
			_, err := c.Status(ctx)
			return err
		}, 10 * time.Second},
		{"acting on a service", func(ctx context.Context, c *openwrt.Client) error {
			return c.Act(ctx, "ipsec", openwrt.Restart)
		}, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			within(t, func(t *testing.T, d *simulator.Device, c *openwrt.Client) {
				put(t, c, lan())
				d.Hang()
				begin := time.Now()
				err := tc.ask(t.Context(), c)
				require.ErrorIs(t, err, openwrt.ErrNoAnswer)
				require.NotErrorIs(t, err, context.DeadlineExceeded, "no other deadline passed")
				require.Equal(t, tc.want, time.Since(begin))
				d.Resume()
				require.NoError(t, tc.ask(t.Context(), c))
			})
		})
	}
}

// TestHungWrite checks that a write without an answer is not known to have failed, and that callers who wait for their
// turn wait no longer than they would for an answer.
func TestHungWrite(t *testing.T) {
	within(t, func(t *testing.T, d *simulator.Device, c *openwrt.Client) {
		put(t, c, lan())
		d.Hang()
		begin := time.Now()
		const callers = 5
		errs := make(chan error, callers)
		for range callers {
			go func() { errs <- c.Delete(t.Context(), openwrt.Zones, "lan") }()
		}
		unknown := 0
		for range callers {
			err := <-errs
			require.ErrorIs(t, err, openwrt.ErrNoAnswer)
			if errors.Is(err, openwrt.ErrUnknownOutcome) {
				unknown++
			}
		}
		require.GreaterOrEqual(t, unknown, 2, "as many as may be under way")
		require.Equal(t, 10*time.Second, time.Since(begin))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.List(ctx, openwrt.Zones)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 11*time.Second, time.Since(begin), "a caller may wait less")
		d.Resume()
	})
}

// TestIdleHour checks that an idle client sends nothing, and closes its connections.
func TestIdleHour(t *testing.T) {
	within(t, func(t *testing.T, d *simulator.Device, c *openwrt.Client) {
		put(t, c, lan())
		d.Reset()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, d.Requests())
		put(t, c, lan())
		require.Len(t, d.Requests(), 1, "the session is still there")
		require.Equal(t, 1, d.Connections())
		for range 100 {
			time.Sleep(5 * time.Second)
			put(t, c, lan())
		}
		require.Equal(t, 1, d.Connections(), "a connection that is used is kept")
		time.Sleep(15 * time.Second)
		put(t, c, lan())
		require.Equal(t, 2, d.Connections(), "and left before the device ends it")
	})
}
