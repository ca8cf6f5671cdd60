package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "2000": 2000, "3Ki": 3 << 10, "64Mi": 64 << 20, "2Gi": 2 << 30} {
		c, err := place{args: "--ovn-nb embedded --max-manifest-size " + text + " --ovn-max-reply " + text}.load(t)
		require.NoError(t, err)
		require.Equal(t, want, c.MaxManifestSize, text)
		require.Equal(t, want, c.backends.OVN.MaxReply, text)
	}
	for _, text := range []string{"0", "-1", "Mi", "1.5Gi", "64MB", "9999999999Gi", "99999999999999999999"} {
		_, err := place{args: "--ovn-nb embedded --ovn-max-reply " + text}.load(t)
		require.EqualError(t, err, `ovn-max-reply (flag --ovn-max-reply): "`+text+
			`": expected a size greater than 0 in bytes, Ki, Mi or Gi, such as 64Mi`)
	}
}
