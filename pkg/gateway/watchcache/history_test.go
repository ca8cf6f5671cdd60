package watchcache

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAHistoryOfLargeObjectsIsShort fills a history with more bytes than it keeps, in few events.
func TestAHistoryOfLargeObjectsIsShort(t *testing.T) {
	h := newHistory()
	h.replace(nil, 1)
	const last = 100
	raw := make([]byte, 1<<20)
	for version := uint64(2); version <= last; version++ {
		h.put(&object{key: "a/p", namespace: "a", name: "p", version: version, raw: raw})
	}
	const kept = maxBytes / (1 << 20)
	_, ok := h.at(last - kept - 1)
	require.False(t, ok)
	_, ok = h.at(last - kept)
	require.True(t, ok)
	_, err := h.since(last-kept-1, newWatcher(scope{}))
	require.ErrorIs(t, err, errExpired)
}
