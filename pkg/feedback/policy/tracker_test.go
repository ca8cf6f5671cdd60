package policy

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

func key(name string) object.Ref {
	return object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: name}
}

// TestWhatMovesWhileAPolicyIsJudgedHasItJudgedAgain checks that no round of a loop is missed: none need follow it.
func TestWhatMovesWhileAPolicyIsJudgedHasItJudgedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTracker(nil, false)
		tr.known[key("db")] = tracked{uid: "u", generation: 1}
		q := tr.begin()
		defer tr.end()
		ref, _ := q.Get()
		require.Equal(t, key("db"), ref)
		seen := tr.sequence()
		tr.failed("ovn")
		require.NotEqual(t, seen, tr.sequence(), "the world is one of the past")
		q.Done(ref)
		ref, _ = q.Get()
		require.Equal(t, key("db"), ref)
		seen = tr.sequence()
		tr.failed("ovn") // while it is judged: it is not open yet
		tr.setOpen(ref, false, seen)
		q.Done(ref)
		require.Equal(t, 1, q.Len(), "it is judged once more")
		ref, _ = q.Get()
		tr.setOpen(ref, false, tr.sequence())
		q.Done(ref)
		require.Zero(t, q.Len())
	})
}

// TestATrackerNotesNothingBetweenTerms checks that a standby does not pile up what it has no use for.
func TestATrackerNotesNothingBetweenTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTracker(nil, false)
		tr.known[key("db")] = tracked{uid: "u", generation: 1}
		tr.begin()
		tr.resized("set")
		tr.setOpen(key("db"), false, tr.sequence())
		tr.end()
		require.Empty(t, tr.open)
		require.Empty(t, tr.sized)
		tr.look(key("db"))
		tr.lookFirst(key("db"))
		tr.lookAll()
		tr.failed("ovn")
		tr.resized("set")
		require.Empty(t, tr.sized)
		q := tr.begin()
		defer tr.end()
		require.Equal(t, 1, q.Len(), "a term begins by looking at all")
		require.Empty(t, tr.trouble)
	})
}

// TestWhatIsUrgentComesFirst checks the order of the queue, of what became urgent while it waited too.
func TestWhatIsUrgentComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.ShutDown()
		for _, name := range []string{"a", "b", "c"} {
			q.Add(key(name))
		}
		q.addFirst(key("c"))
		q.addFirst(key("d"))
		q.do(sizesDue, 0)
		var got []string
		for q.Len() > 0 {
			ref, _ := q.Get()
			got = append(got, ref.Name)
			if len(got) == 2 {
				q.addFirst(ref) // while it is under way
				q.Add(key("c"))
			}
			q.Done(ref)
		}
		require.Equal(t, []string{"c", "d", "", "d", "a", "b", "c"}, got)
	})
}
