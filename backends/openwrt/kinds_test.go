package openwrt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

func TestEveryKindHasARow(t *testing.T) {
	require.Len(t, kindsByObject(), len(openwrt.Kinds()))
	for _, k := range openwrt.Kinds() {
		require.Contains(t, kindsByObject(), k, k.String())
	}
	for k := intent.DeviceZone; k <= intent.DeviceApplication; k++ {
		require.NotNil(t, kinds()[k], k.String())
	}
}
