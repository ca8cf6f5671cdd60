//go:build e2e

package ovnlab_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestRaft proves that the harness's own cluster survives what the suites do to it.
func TestRaft(t *testing.T) {
	r := ovnlab.StartRaft(t)
	require.Len(t, strings.Split(r.Endpoints(), ","), 3)
	r.NBCtl("ls-add", "before")
	first := r.Leader()
	r.Kill(first)
	second := r.Leader()
	require.NotEqual(t, first, second)
	r.NBCtl("ls-add", "killed")
	r.Restart(first)
	r.Hang(second)
	third := r.Leader()
	require.NotEqual(t, second, third)
	r.NBCtl("ls-add", "hung")
	r.Resume(second)
	for _, name := range []string{"before", "killed", "hung"} {
		require.Contains(t, r.NBCtl("ls-list"), "("+name+")")
	}
}
