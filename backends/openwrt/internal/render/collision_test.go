package render

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// TestTwoZonesOfOneName gives two zones one name on the device, which six digits of a hash allow: one of them is
// written, and the reason why the other is not names both.
func TestTwoZonesOfOneName(t *testing.T) {
	scope := intent.Scope{Namespace: "shop", Purpose: "cnf"}
	zone := func(i int) *intent.DeviceIntent {
		o := intent.Origin{Kind: "FirewallZone", Namespace: "shop", Name: fmt.Sprintf("z%d", i)}
		return &intent.DeviceIntent{ID: intent.NewDeviceIntentID(scope, o, ""), Scope: scope, Origin: o, Spec: &intent.Zone{Networks: []string{"lan"}}}
	}
	names := section.NewNamer("netloom")
	seen := map[string]*intent.DeviceIntent{}
	var one, other *intent.DeviceIntent
	for i := 0; other == nil; i++ {
		require.Less(t, i, 1_000_000)
		e := zone(i)
		name := names.Object(openwrt.Zones, string(e.ID), e.Origin.Name)
		if one = seen[name]; one != nil {
			other = e
		}
		seen[name] = e
	}
	b := intent.NewSnapshot().Next()
	cnf := &intent.CNF{ID: "shop/cnf-0", Scope: scope, Ready: true, Networks: map[string]string{"lan": "net0"}}
	b.PutCNF(cnf)
	b.PutDeviceIntent(one)
	b.PutDeviceIntent(other)
	got := Intents(b.Commit(), cnf, names, nil, false, nil)
	require.Len(t, got.Objects, 1)
	require.Len(t, got.Skips, 1)
	both := got.Skips[0].Intent + " " + got.Skips[0].Reason
	require.Contains(t, both, string(one.ID))
	require.Contains(t, both, string(other.ID))
	for _, w := range got.Objects {
		require.NotEqual(t, got.Skips[0].Intent, w.Intent, "one of them is there")
		require.Contains(t, got.Skips[0].Reason, w.Name)
	}
}
