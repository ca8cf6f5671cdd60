package openwrt

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithdrawnPartsAreWhatTheirDigestSays(t *testing.T) {
	for n := 1; n <= 3; n++ {
		parts := strings.Split(WithdrawnParts(n), PartSeparator)
		require.Len(t, parts, n)
		for _, p := range parts {
			inFile, err := base64.StdEncoding.DecodeString(p)
			require.NoError(t, err)
			shown, err := base64.StdEncoding.DecodeString(string(inFile))
			require.NoError(t, err)
			require.True(t, digest(string(shown)).Withdrawn())
			require.True(t, digest(string(shown)+"\n\ufffdother").Withdrawn())
		}
	}
	require.False(t, digest("withdrawn by hand").Withdrawn())
	require.Equal(t, digest("x"), Digest(digest("x").Sum()))
}
