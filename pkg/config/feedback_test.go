package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/config"
)

func TestFeedbackIsOffUnlessAskedFor(t *testing.T) {
	load := func(args string) (*loaded, error) { return place{args: "--ovn-nb=tcp:127.0.0.1:6641 " + args}.load(t) }
	c, err := load("")
	require.NoError(t, err)
	require.Equal(t, config.Feedback{}, c.Feedback)
	c, err = load("--policy-status --policy-events")
	require.NoError(t, err)
	require.Equal(t, config.Feedback{PolicyStatus: true, Events: true}, c.Feedback)
	_, err = load("--policy-status --policy-events --manifests=somewhere")
	require.ErrorContains(t, err, "policy-status (flag --policy-status): cannot be combined with manifests (flag --manifests)")
	require.ErrorContains(t, err, "policy-events (flag --policy-events): cannot be combined with")
}
