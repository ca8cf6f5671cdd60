package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheWebPageIsServedWhereItIsAskedFor(t *testing.T) {
	c, err := place{args: "--ovn-nb embedded"}.load(t)
	require.NoError(t, err)
	require.Empty(t, c.UIListen, "nowhere unless asked for")

	c, err = place{args: "--ovn-nb embedded --ui-listen 127.0.0.1:8081"}.load(t)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8081", c.UIListen)
	require.Equal(t, ":8080", c.Listen)

	_, err = place{args: "--ovn-nb embedded --ui-listen 8081"}.load(t)
	require.EqualError(t, err, `ui-listen (flag --ui-listen): "8081": expected [HOST]:PORT, or nothing`)
}
