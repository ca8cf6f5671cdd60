package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLeaderElectionIsOffUnlessAskedFor(t *testing.T) {
	c, err := place{args: "--ovn-nb tcp:127.0.0.1:6641"}.load(t)
	require.NoError(t, err)
	require.False(t, c.Leader.Elect)
	require.Equal(t, 15*time.Second, c.Leader.LeaseDuration)
	require.Equal(t, 10*time.Second, c.Leader.RenewDeadline)
	require.Equal(t, 2*time.Second, c.Leader.RetryPeriod)
}

func TestSettingsOfTheElectionThatDoNotGoTogether(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"good":                     {"--leader-elect", ""},
		"good also":                {"--leader-elect --leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms", ""},
		"off, nothing is compared": {"--leader-elect-renew-deadline 1h", ""},
		"no API": {
			"--leader-elect --manifests dir",
			"leader-elect (flag --leader-elect): cannot be combined with manifests (flag --manifests): the Lease requires a Kubernetes API",
		},
		"a deadline that is too late": {
			"--leader-elect --leader-elect-renew-deadline 15s",
			"leader-elect-renew-deadline (flag --leader-elect-renew-deadline): 15s is not less than leader-elect-lease-duration (default), 15s",
		},
		"a period that is too long": {
			"--leader-elect --leader-elect-retry-period 9s",
			"leader-elect-retry-period (flag --leader-elect-retry-period): 9s times 1.2 is not less than leader-elect-renew-deadline (default), 10s",
		},
		"part of a second": {
			"--leader-elect --leader-elect-lease-duration 15500ms",
			"leader-elect-lease-duration (flag --leader-elect-lease-duration): \"15500ms\": expected a duration in whole seconds greater than 0, such as 15s or 1m",
		},
		"less than a second": {
			"--leader-elect --leader-elect-lease-duration 10ms",
			`leader-elect-lease-duration (flag --leader-elect-lease-duration): "10ms": expected a duration in whole seconds greater than 0, such as 15s or 1m`,
		},
		"an invalid name": {
			"--leader-elect --leader-elect-name Not_Good",
			`leader-elect-name (flag --leader-elect-name): "Not_Good": expected up to 63 characters of a-z, 0-9, dash and dot, or nothing`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := "--ovn-nb tcp:127.0.0.1:6641 " + tc.args
			_, err := place{args: args}.load(t)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Equal(t, tc.want, strings.TrimSpace(err.Error()))
		})
	}
}
