package pages_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon/pages"
)

// TestReturn checks that fewer pages of the program's file are in memory afterwards, and that the program still runs.
func TestReturn(t *testing.T) {
	before := residentFile(t)
	require.NoError(t, pages.Return())
	require.Less(t, residentFile(t), before)
}

// residentFile is how much of files is in memory, in KiB.
func residentFile(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "RssFile:"); found {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(t, err)
			return kib
		}
	}
	require.Fail(t, "no RssFile")
	return 0
}
