package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// TestReadersOfAnInboxDoNotTakeFromEachOther has two readers, of which one is slow.
func TestReadersOfAnInboxDoNotTakeFromEachOther(t *testing.T) {
	a, b := object.Ref{Kind: "Pod", Namespace: "shop", Name: "a"}, object.Ref{Kind: "Pod", Namespace: "shop", Name: "b"}
	one := source.NewInbox()
	two := one.Fork()
	one.Mark(a)
	<-one.Wake()
	require.Equal(t, []object.Ref{a}, one.Drain())
	one.MarkGone(source.Deleted, a)
	one.Mark(b)
	require.Equal(t, []source.Change{{Ref: a, Gone: source.Deleted}, {Ref: b}}, one.Changes())
	<-two.Wake()
	require.Equal(t, []source.Change{{Ref: a, Gone: source.Deleted}, {Ref: b}}, two.Changes())
	require.Zero(t, two.DirtySince())
	one.Ring()
	<-two.Wake()
	require.Empty(t, two.Drain())
}
