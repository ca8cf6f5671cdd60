package owner_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/translator/owner"
)

func TestTheFirstOwns(t *testing.T) {
	table := owner.NewTable[int](strings.Compare)
	require.Empty(t, table.Add(80, "b"))
	require.Equal(t, []string{"b"}, table.Add(80, "a"))
	before := table.All(80)
	require.Equal(t, []string{"a", "b"}, table.Add(80, "c"))
	require.Equal(t, []string{"a", "b"}, before, "a list stays as it is")

	first, ok := table.Owner(80)
	require.True(t, ok)
	require.Equal(t, "a", first)
	require.Equal(t, []string{"b", "c"}, table.Remove(80, "a"))
	first, _ = table.Owner(80)
	require.Equal(t, "b", first, "the next one owns it")

	_, ok = table.Owner(81)
	require.False(t, ok)
	require.Equal(t, 1, table.Len())
	table.Remove(80, "b")
	require.Empty(t, table.Remove(80, "c"))
	require.Zero(t, table.Len(), "what is not asked for is forgotten")
}
