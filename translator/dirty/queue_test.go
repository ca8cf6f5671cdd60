package dirty_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/dirty"
)

func TestQueue(t *testing.T) {
	var q dirty.Queue
	a, b := object.Ref{Kind: "Service", Name: "a"}, object.Ref{Kind: "Service", Name: "b"}
	q.Add(dirty.Resources, b)
	q.Add(dirty.Resources, a)
	q.Add(dirty.Resources, b)
	q.Add(dirty.Sets, b)
	require.Equal(t, 3, q.Len())
	require.Equal(t, 2, q.Len(dirty.Resources, dirty.Policies))

	require.Equal(t, []object.Ref{a, b}, q.Take(dirty.Resources, object.Ref.Compare), "each once, in order")
	require.Empty(t, q.Take(dirty.Resources, object.Ref.Compare), "it is taken")
	q.Add(dirty.Resources, a)
	require.Equal(t, []object.Ref{a}, q.Take(dirty.Resources, object.Ref.Compare), "a mark of afterwards is not lost")
	require.Equal(t, []object.Ref{b}, q.Take(dirty.Sets, object.Ref.Compare), "stages are apart")
	require.Zero(t, q.Len())
}
