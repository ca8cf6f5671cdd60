package owner_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/translator/owner"
)

func TestTheFirstOwns(t *testing.T) {
	table := owner.NewTable[int](strings.Compare)
	require.False(t, table.Add(80, "b"))
	require.True(t, table.Add(80, "a"))
	require.True(t, table.Add(80, "c"))
	require.Equal(t, []string{"a", "b", "c"}, table.All(80))

	first, ok := table.Owner(80)
	require.True(t, ok)
	require.Equal(t, "a", first)
	require.True(t, table.Remove(80, "a"))
	require.Equal(t, []string{"b", "c"}, table.All(80))
	first, _ = table.Owner(80)
	require.Equal(t, "b", first, "the next one owns it")

	_, ok = table.Owner(81)
	require.False(t, ok)
	require.Equal(t, 1, table.Len())
	table.Remove(80, "b")
	require.False(t, table.Remove(80, "c"))
	require.Zero(t, table.Len(), "what is not asked for is forgotten")
}
