package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/config"
)

func TestFeedbackIsOffUnlessAskedFor(t *testing.T) {
	load := func(args string) (*loaded, error) { return place{args: "--ovn-nb=tcp:127.0.0.1:6641 " + args}.load(t) }
	c, err := load("")
	require.NoError(t, err)
	unused := config.Readiness{Gate: "netloom.io/network-policy", Proof: config.ReadinessInstalled, Grace: 2 * time.Minute}
	require.Equal(t, config.Feedback{Readiness: unused}, c.Feedback)
	c, err = load("--policy-status --policy-events --readiness --readiness-gate=example.com/gate --readiness-proof=written --readiness-grace=0s")
	require.NoError(t, err)
	require.Equal(t, config.Feedback{
		PolicyStatus: true, Events: true, Readiness: config.Readiness{Enabled: true, Gate: "example.com/gate", Proof: config.ReadinessWritten},
	}, c.Feedback)
	for _, bad := range []string{"network-policy", "netloom.io/", "netloom.io/a b", "/x"} {
		_, err = load("--readiness-gate='" + bad + "'")
		require.ErrorContains(t, err, "readiness-gate", bad)
	}
	_, err = load("--policy-status --policy-events --readiness --manifests=somewhere")
	require.ErrorContains(t, err, "readiness (flag --readiness): cannot be combined with manifests")
	require.ErrorContains(t, err, "policy-status (flag --policy-status): cannot be combined with manifests (flag --manifests)")
	require.ErrorContains(t, err, "policy-events (flag --policy-events): cannot be combined with")
}
