package retention_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// stage is a ledger with what is there.
type stage struct {
	t      *testing.T
	ledger *retention.Ledger
	there  map[object.Ref]runtime.Object
	now    time.Time
}

func newStage(t *testing.T, opts retention.Options) *stage {
	t.Helper()
	if opts.Fraction == 0 {
		opts.Fraction = 0.5
	}
	return &stage{
		t: t, ledger: retention.NewLedger(opts), there: map[object.Ref]runtime.Object{},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

func ref(kind string, name string) object.Ref {
	return object.Ref{Kind: kind, Namespace: "shop", Name: name}
}

// refs returns the objects p<from> to p<to-1> of a kind.
func refs(kind string, from, to int) []object.Ref {
	var out []object.Ref
	for i := from; i < to; i++ {
		out = append(out, ref(kind, fmt.Sprintf("p%d", i)))
	}
	return out
}

func policies(from, to int) []object.Ref { return refs(object.KindNetworkPolicy, from, to) }

func made(r object.Ref) runtime.Object {
	meta := metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}
	if r.Kind == object.KindPod {
		return &corev1.Pod{ObjectMeta: meta}
	}
	return &networkingv1.NetworkPolicy{ObjectMeta: meta}
}

func (s *stage) take(changes ...source.Change) []object.Ref {
	return s.ledger.Take(s.now, changes, func(r object.Ref) (source.Held, bool) {
		o, ok := s.there[r]
		return source.Typed(o), ok
	}, true)
}

// pass lets time pass, and judges what is due.
func (s *stage) pass(d time.Duration) {
	end := s.now.Add(d)
	for {
		due, ok := s.ledger.Due()
		if !ok || due.After(end) {
			break
		}
		s.now = due
		s.take()
	}
	s.now = end
}

func (s *stage) put(all ...object.Ref) {
	var changes []source.Change
	for _, r := range all {
		s.there[r] = made(r)
		changes = append(changes, source.Change{Ref: r})
	}
	s.take(changes...)
}

func (s *stage) gone(how source.Departure, all ...object.Ref) []source.Change {
	var changes []source.Change
	for _, r := range all {
		delete(s.there, r)
		changes = append(changes, source.Change{Ref: r, Gone: how})
	}
	return changes
}

// lose removes objects that are then missing, and waits until that is judged.
func (s *stage) lose(all ...object.Ref) {
	s.take(s.gone(source.Missing, all...)...)
	s.pass(2 * time.Second)
}

func (s *stage) remove(all ...object.Ref) { s.take(s.gone(source.Deleted, all...)...) }

func (s *stage) kept() []object.Ref {
	var out []object.Ref
	for _, o := range s.ledger.Kept() {
		require.NotNil(s.t, o.Object)
		require.False(s.t, o.Since.IsZero())
		out = append(out, o.Ref)
	}
	return out
}

// inForce counts the objects in force among some.
func (s *stage) inForce(all ...object.Ref) int {
	n := 0
	for _, r := range all {
		_, ok := s.ledger.Get(r)
		if ok {
			n++
		}
		require.Equal(s.t, ok, slices.Contains(s.ledger.Refs(), r))
	}
	return n
}

func TestALossBeyondTheShareIsKept(t *testing.T) {
	for _, tc := range []struct {
		name       string
		opts       retention.Options
		have, lose int
		wantKept   int
	}{
		{"two of three", retention.Options{}, 3, 2, 2},
		{"all of three", retention.Options{}, 3, 3, 3},
		{"one of three", retention.Options{}, 3, 1, 0},
		{"exactly the share", retention.Options{}, 10, 5, 0},
		{"one more than the share", retention.Options{}, 10, 6, 6},
		{"one of two", retention.Options{}, 2, 1, 0},
		{"both", retention.Options{}, 2, 2, 2},
		{"the only one", retention.Options{}, 1, 1, 1},
		{"a share of one keeps nothing", retention.Options{Fraction: 1}, 10, 10, 0},
		{"a small share keeps at once", retention.Options{Fraction: 0.001}, 10, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t, tc.opts)
			s.put(policies(0, tc.have)...)
			s.lose(policies(0, tc.lose)...)
			require.Len(t, s.kept(), tc.wantKept)
			require.Equal(t, tc.have-tc.lose+tc.wantKept, s.inForce(policies(0, tc.have)...))
		})
	}
}

// TestShortLivedPolicies has policies with names of their own come and go in a directory. Within an hour more go than there ever were at once.
// That is a loss to stop, unless the guard is switched off.
func TestShortLivedPolicies(t *testing.T) {
	for _, tc := range []struct {
		name     string
		fraction float64
		wantKept bool
	}{
		{"by default they count", retention.DefaultFraction, true},
		{"almost all may go", 0.99, true},
		{"a share of one switches the guard off", 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t, retention.Options{Fraction: tc.fraction})
			s.put(policies(0, 3)...)
			for i := 3; i < 30; i++ {
				s.put(policies(i, i+1)...)
				s.lose(policies(i, i+1)...)
				s.pass(time.Minute)
			}
			require.Equal(t, tc.wantKept, len(s.kept()) > 0)
			s.lose(policies(0, 3)...)
			require.Equal(t, tc.wantKept, len(s.kept()) > 0, "not even the last ones")
		})
	}
}

func TestNothingIsOpenWhileALossComesInPieces(t *testing.T) {
	s := newStage(t, retention.Options{})
	all := policies(0, 10)
	s.put(all...)
	for _, r := range all {
		s.take(s.gone(source.Missing, r)...)
		s.pass(500 * time.Millisecond)
		require.Equal(t, 10, s.inForce(all...))
	}
	s.pass(time.Minute)
	require.Equal(t, all, s.kept())
}

func TestALossThatNeverEndsIsJudgedNevertheless(t *testing.T) {
	s := newStage(t, retention.Options{})
	all := policies(0, 100)
	s.put(all...)
	for _, r := range all[:30] {
		s.take(s.gone(source.Missing, r)...)
		s.pass(500 * time.Millisecond)
	}
	require.Less(t, s.inForce(all...), 90)
	require.Empty(t, s.kept())
}

func TestOneByOneIsStoppedAtTheShareOfAllAtOnce(t *testing.T) {
	s := newStage(t, retention.Options{})
	all := policies(0, 10)
	s.put(all...)
	for _, r := range all {
		s.lose(r)
		s.pass(time.Minute)
	}
	require.Equal(t, all[5:], s.kept())
	require.Equal(t, 5, s.inForce(all...))
}

func TestWhatWentLongAgoDoesNotCount(t *testing.T) {
	s := newStage(t, retention.Options{Window: time.Hour})
	all := policies(0, 10)
	s.put(all...)
	s.lose(all[:5]...)
	s.pass(2 * time.Hour)
	s.lose(all[5:7]...)
	require.Empty(t, s.kept())
	s.lose(all[7])
	require.Equal(t, all[7:8], s.kept(), "three of the five that there were an hour ago")
}

func TestWhatArrivesWithALossDoesNotMakeUpForIt(t *testing.T) {
	s := newStage(t, retention.Options{})
	s.put(policies(0, 3)...)
	changes := s.gone(source.Missing, policies(0, 2)...)
	s.there[ref(object.KindNetworkPolicy, "deny")] = made(ref(object.KindNetworkPolicy, "deny"))
	refs := s.take(append(changes, source.Change{Ref: ref(object.KindNetworkPolicy, "deny")})...)
	require.Len(t, refs, 3)
	s.put(policies(10, 14)...)
	s.pass(time.Minute)
	require.Equal(t, policies(0, 2), s.kept())
}

func TestADeletionIsIntent(t *testing.T) {
	s := newStage(t, retention.Options{})
	all := policies(0, 100)
	s.put(all...)
	s.remove(all[:60]...)
	require.Equal(t, 40, s.inForce(all...), "at once")
	s.lose(all[60:81]...)
	require.Equal(t, all[60:81], s.kept(), "those that were deleted are no part of the whole")
}

func TestTheDeletionOfANamespaceIsIntent(t *testing.T) {
	shop := object.Ref{Kind: object.KindNamespace, Name: "shop"}
	for _, tc := range []struct {
		name string
		do   func(*stage)
	}{
		{"seen before", func(s *stage) { s.remove(shop); s.lose(policies(0, 10)...) }},
		{"seen with them", func(s *stage) {
			s.take(append(s.gone(source.Missing, policies(0, 10)...), s.gone(source.Deleted, shop)...)...)
		}},
		{"seen a moment later", func(s *stage) { s.take(s.gone(source.Missing, policies(0, 10)...)...); s.remove(shop) }},
		{"seen much later", func(s *stage) { s.lose(policies(0, 10)...); require.Len(s.t, s.kept(), 10); s.remove(shop) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t, retention.Options{})
			s.put(append(policies(0, 10), shop)...)
			tc.do(s)
			require.Empty(t, s.kept())
			require.Zero(t, s.inForce(policies(0, 10)...))
		})
	}
	t.Run("a new one of the name is another", func(t *testing.T) {
		s := newStage(t, retention.Options{})
		s.put(shop)
		s.remove(shop)
		s.put(append(policies(0, 10), shop)...)
		s.lose(policies(0, 10)...)
		require.Len(t, s.kept(), 10)
	})
	t.Run("one that is missing itself was not deleted", func(t *testing.T) {
		s := newStage(t, retention.Options{})
		s.put(append(policies(0, 10), shop)...)
		s.lose(append(policies(0, 10), shop)...)
		require.Len(t, s.kept(), 11)
	})
}

// TestAPolicyThatIsReplacedIsNotMissing renames the only policy of a directory.
func TestAPolicyThatIsReplacedIsNotMissing(t *testing.T) {
	s := newStage(t, retention.Options{})
	old, now := policies(0, 1), policies(1, 2)
	s.put(old...)
	s.there[now[0]] = made(now[0])
	s.take(append(s.gone(source.Missing, old...), source.Change{Ref: now[0]})...)
	s.pass(2 * time.Second)
	require.Empty(t, s.kept())
	require.Zero(t, s.inForce(old...))
}

// TestFewMayAllGo has so few objects that may all go, unless the last policy is among them.
func TestFewMayAllGo(t *testing.T) {
	services := refs(object.KindService, 0, 2)
	s := newStage(t, retention.Options{})
	s.put(services...)
	s.lose(services...)
	require.Empty(t, s.kept())
	s = newStage(t, retention.Options{Least: 2})
	s.put(services...)
	s.lose(services...)
	require.Equal(t, services, s.kept(), "how few can be set")
}

// TestANamespaceThatNothingDeclaredGoesWithTheLastObject keeps what is missing from an emptied directory, and its namespace.
func TestANamespaceThatNothingDeclaredGoesWithTheLastObject(t *testing.T) {
	shop := object.Ref{Kind: object.KindNamespace, Name: "shop"}
	all := append(policies(0, 2), refs(object.KindPod, 0, 10)...)
	s := newStage(t, retention.Options{})
	s.put(append(all, shop)...)
	s.take(append(s.gone(source.Missing, all...), s.gone(source.Implied, shop)...)...)
	s.pass(2 * time.Second)
	require.ElementsMatch(t, all, s.kept())
	require.Equal(t, 1, s.inForce(shop))

	s.remove(all[:11]...)
	require.Equal(t, 1, s.inForce(shop), "the last one is in it")
	require.Equal(t, []object.Ref{shop, all[11]}, s.take(s.gone(source.Deleted, all[11])...))
	require.Zero(t, s.inForce(shop))

	s.put(all[0], shop)
	s.take(s.gone(source.Implied, shop)...)
	s.put(shop)
	s.remove(all[0])
	require.Equal(t, 1, s.inForce(shop), "it came back")
}

// TestWhatNobodyDeletedIsKept has one policy of ten that the API lost, which its share alone would not keep.
func TestWhatNobodyDeletedIsKept(t *testing.T) {
	s := newStage(t, retention.Options{})
	pod := ref(object.KindPod, "a")
	s.put(append(policies(0, 10), pod)...)
	lost := s.gone(source.Lost, policies(3, 4)...)
	require.Equal(t, policies(3, 4), s.take(lost...))
	require.Equal(t, policies(3, 4), s.kept())
	require.Equal(t, 10, s.inForce(policies(0, 10)...))
	s.take(s.gone(source.Lost, pod)...)
	s.pass(2 * time.Second)
	require.Equal(t, policies(3, 4), s.kept(), "a pod closes nothing")
	s.ledger.Approve(policies(3, 4))
	require.Equal(t, 9, s.inForce(policies(0, 10)...))
}

func TestWhatComesBackIsReleased(t *testing.T) {
	s := newStage(t, retention.Options{})
	all := policies(0, 10)
	s.put(all...)
	s.lose(all...)
	s.put(all[:9]...)
	require.Equal(t, all[9:], s.kept())
	s.remove(all[9]) // it was there, and is deleted now
	require.Empty(t, s.kept())
	require.Equal(t, 9, s.inForce(all...))
	s.lose(all[:4]...)
	require.Empty(t, s.kept(), "what came back is not missing any more")
}

func TestAFileThatIsReplacedIsNotMissing(t *testing.T) {
	s := newStage(t, retention.Options{})
	all := policies(0, 4)
	s.put(all...)
	for range 20 { // an editor takes a file away before it puts the new one there
		s.take(s.gone(source.Missing, all[0])...)
		s.put(all[0])
	}
	for range 20 { // a slow one
		s.lose(all[0])
		s.put(all[0])
	}
	s.lose(all[1])
	require.Empty(t, s.kept())
}

func TestApproval(t *testing.T) {
	s := newStage(t, retention.Options{})
	all := policies(0, 10)
	s.put(all...)
	s.lose(all[:4]...)
	s.lose(all[4:8]...)
	require.Equal(t, all[4:8], s.kept())
	s.ledger.Approve(all[:8])
	require.Empty(t, s.kept())
	require.Equal(t, 2, s.inForce(all...))
	s.put(policies(10, 18)...)
	s.lose(policies(10, 15)...)
	require.Empty(t, s.kept(), "what was approved counts no more")
	s.lose(policies(15, 16)...)
	require.Len(t, s.kept(), 1)
}

func TestKindsAreCountedApart(t *testing.T) {
	s := newStage(t, retention.Options{})
	s.put(append(policies(0, 10), refs(object.KindPod, 0, 1000)...)...)
	s.lose(policies(0, 10)...)
	require.Len(t, s.kept(), 10)
	s.lose(refs(object.KindPod, 0, 500)...)
	require.Len(t, s.kept(), 10)
}

// TestWhatGoesWithALossIsPartOfIt keeps a few objects of one kind that go missing with many of another, as a restart would.
func TestWhatGoesWithALossIsPartOfIt(t *testing.T) {
	s := newStage(t, retention.Options{})
	few := refs(object.KindService, 0, 2)
	s.put(append(few, refs(object.KindPod, 0, 10)...)...)
	s.lose(append(few, refs(object.KindPod, 0, 10)...)...)
	require.Len(t, s.kept(), 12)
}

func TestPodsThatAreReplacedAreNotLost(t *testing.T) {
	s := newStage(t, retention.Options{})
	s.put(refs(object.KindPod, 0, 10)...)
	changes := s.gone(source.Missing, refs(object.KindPod, 0, 9)...)
	for _, r := range refs(object.KindPod, 100, 108) {
		s.there[r] = made(r)
		changes = append(changes, source.Change{Ref: r})
	}
	s.take(changes...) // a relist after a gap in which a deployment was rolled out
	s.pass(time.Minute)
	require.Empty(t, s.kept())
	s.lose(append(refs(object.KindPod, 9, 10), refs(object.KindPod, 100, 108)...)...)
	require.Len(t, s.kept(), 9, "now there are none")
}

func TestAPodWhoseAddressAnotherHasIsNotKept(t *testing.T) {
	pod := func(name, ip string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: ip}}},
		}
	}
	set := func(s *stage, p *corev1.Pod) source.Change {
		s.there[ref(object.KindPod, p.Name)] = p
		return source.Change{Ref: ref(object.KindPod, p.Name)}
	}
	for name, early := range map[string]bool{"it came first": true, "it came later": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, retention.Options{})
			for i := range 10 {
				s.take(set(s, pod(fmt.Sprintf("p%d", i), fmt.Sprintf("10.0.0.%d", i))))
			}
			changes := s.gone(source.Missing, refs(object.KindPod, 0, 10)...)
			if early {
				s.take(append(changes, set(s, pod("new", "10.0.0.3")))...)
				s.pass(time.Minute)
			} else {
				s.take(changes...)
				s.pass(time.Minute)
				require.Contains(t, s.take(set(s, pod("new", "10.0.0.3"))), ref(object.KindPod, "p3"))
			}
			require.Len(t, s.kept(), 9)
			require.NotContains(t, s.kept(), ref(object.KindPod, "p3"))
		})
	}
}

func TestNothingIsMissingBeforeTheSourceHasSynced(t *testing.T) {
	s := newStage(t, retention.Options{})
	s.put(policies(0, 10)...)
	s.ledger.Take(s.now, s.gone(source.Missing, policies(0, 10)...), func(object.Ref) (source.Held, bool) { return nil, false }, false)
	require.Zero(t, s.inForce(policies(0, 10)...))
}

func TestStatusesAreNotKept(t *testing.T) {
	s := newStage(t, retention.Options{})
	s.put(refs("CNFStatus", 0, 10)...)
	s.lose(refs("CNFStatus", 0, 10)...)
	require.Empty(t, s.kept())
}
