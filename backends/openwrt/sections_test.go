package openwrt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	device "github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
)

// What an explanation shows is what a plan writes, except where Secrets are needed.
func TestSectionsAreWhatAPlanWrites(t *testing.T) {
	r := newRig(t)
	everything := r.fill(t)
	written := map[string]string{} // name by kind and origin
	plan := r.reconcile(t)
	for i := range plan.Ops {
		if op := &plan.Ops[i]; op.Origin != "" {
			written[op.Kind+" of "+op.Origin] = op.Name
		}
	}
	shown := map[string]string{}
	unavailable := 0
	for _, e := range everything.list() {
		got := device.SectionsOf(r.snap, r.snap.CNF(cnfID), "a", e.Origin)
		require.Len(t, got, 1, e.ID)
		shown[got[0].Kind+" of "+e.Origin.String()] = got[0].Name
		if strings.Contains(got[0].Reason, "Secret") {
			unavailable++
			require.Empty(t, got[0].Fields)
		}
	}
	require.Equal(t, written, shown)
	require.Equal(t, 2, unavailable, "the tunnels")
}

func TestSectionsSayWhyThereIsNone(t *testing.T) {
	r := newRig(t)
	e := newEverything()
	r.put(e.wanRule) // its policy is not there
	got := device.SectionsOf(r.snap, r.snap.CNF(cnfID), "a", e.wanRule.Origin)
	require.Len(t, got, 1)
	require.Contains(t, got[0].String(), "does not exist")
	require.False(t, slices.ContainsFunc(device.SectionsOf(r.snap, r.snap.CNF(cnfID), "a", intent.Origin{Kind: "Other"}),
		func(device.Section) bool { return true }))
}
