package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

func TestEveryKindHasARow(t *testing.T) {
	written := map[openwrt.Kind]bool{}
	for k := intent.DeviceZone; k <= intent.DeviceApplication; k++ {
		require.NotNil(t, kinds()[k], k.String())
		written[kinds()[k].object] = true
	}
	require.Len(t, written, len(openwrt.Kinds()))
	for _, k := range openwrt.Kinds() {
		require.Contains(t, written, k, k.String())
	}
}
