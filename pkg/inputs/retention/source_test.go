package retention_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// listing is a source that lists its objects for the first time, and has listed all of them by the time that some changes are taken.
type listing struct {
	source.Source
	there   map[object.Ref]runtime.Object
	changes []source.Change
	last    bool // the changes are the last ones before it has synced
	synced  bool
}

func (l *listing) Synced() bool { return l.synced }

func (l *listing) Changes() []source.Change {
	l.synced = l.last
	return l.changes
}

func (l *listing) Get(ref object.Ref) (runtime.Object, bool) {
	o, ok := l.there[ref]
	return o, ok
}

// TestWhatGoesBeforeTheSourceHasSyncedIsNotKept has objects that were listed go before the first list is complete. That it is complete
// right after does not make them missing.
func TestWhatGoesBeforeTheSourceHasSyncedIsNotKept(t *testing.T) {
	all := policies(0, 3)
	inner := &listing{there: map[object.Ref]runtime.Object{}}
	for _, r := range all {
		inner.there[r] = made(r)
		inner.changes = append(inner.changes, source.Change{Ref: r})
	}
	s := retention.NewSource(inner, retention.Options{})
	require.Equal(t, all, s.Drain())
	require.Equal(t, all, s.Refs())

	clear(inner.there)
	inner.last = true
	require.Equal(t, all, s.Drain())
	require.True(t, s.Synced())
	require.Empty(t, s.Refs())
	_, pending := s.Due()
	require.False(t, pending, "nothing is left to be judged")
}
