package upgrade_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/test/upgrade"
)

// TestBoundsNoticeWindows takes the ACLs of one action out of recorded rows, as an upgrade in two transactions would for a moment.
func TestBoundsNoticeWindows(t *testing.T) {
	const seed = 1
	w := upgrade.Open(t, recorded(t, seed)[0])
	target := ovntest.New(t, schemaOf(seed))
	endpoint := target.Listen(t)
	prepare(t, target, w)
	upgrade.ReadRecord(t, filepath.Join("testdata", "rows", upgrade.Versions()[0].Name(), "1.json")).Restore(t, endpoint)
	state := upgrade.Watch(t, endpoint).Last(t)
	without := func(action string) upgrade.State {
		next := maps.Clone(state)
		next["ACL"] = maps.Clone(state["ACL"])
		maps.DeleteFunc(next["ACL"], func(_ string, acl upgrade.Row) bool { return string(acl["action"]) == action })
		require.Less(t, len(next["ACL"]), len(state["ACL"]))
		return next
	}
	bounds := upgrade.NewBounds(t, target, w.Flows(seed, 250), state, state)
	require.Empty(t, bounds.Faults(t, []upgrade.State{state, state}))
	for action, fault := range map[string]string{`"drop"`: "open, although denied", `"allow-related"`: "cut, although allowed"} {
		faults := bounds.Faults(t, []upgrade.State{state, without(action), state})
		require.NotEmpty(t, faults, action)
		require.Contains(t, faults[0], "state 1 of 3")
		require.Condition(t, func() bool { return containing(faults, fault) }, "%s: %q", action, faults)
	}
}

func containing(faults []string, text string) bool {
	for _, f := range faults {
		if strings.Contains(f, text) {
			return true
		}
	}
	return false
}
