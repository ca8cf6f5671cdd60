package daemon_test

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/watch"
	"github.com/netloom/netloom/translator"
)

// patience is how long anything on this machine may take, even while it is busy.
const patience = time.Minute

// tick is how often a condition is looked at.
const tick = 2 * time.Millisecond

// testLog writes to the test's own output.
func testLog(t *testing.T) *logrus.Logger {
	log := logrus.New()
	log.SetOutput(t.Output())
	log.SetLevel(logrus.DebugLevel)
	return log
}

func newPipeline(t *testing.T, source watch.Source) *daemon.Pipeline {
	return daemon.NewPipeline(source, translator.Options{}, testLog(t))
}

// admits says whether a snapshot lets TCP through from one pod to another.
func admits(s *intent.Snapshot, from, to *corev1.Pod) bool {
	party := func(p *corev1.Pod) intent.Party {
		return intent.Party{Key: object.Key{Namespace: p.Namespace, Name: p.Name}, Addr: netip.MustParseAddr(p.Status.PodIP)}
	}
	return s.Evaluate(intent.Flow{Src: party(from), Dst: party(to), Protocol: intent.TCP, Port: 80}).Allowed
}

func TestNothingIsPublishedBeforeTheSourceSynced(t *testing.T) {
	source := newFakeSource()
	p := newPipeline(t, source)
	published := 0
	p.OnPublish(func(daemon.Published) { published++ })

	source.put(namespace("shop"), pod("web", "web", "n", "10.0.0.1"), pod("db", "db", "n", "10.0.0.2"))
	p.Step()
	source.put(policy("db", "web", "db"))
	p.Step()
	require.Nil(t, p.Latest())
	require.Zero(t, published)
	require.Zero(t, p.Stats())

	source.sync()
	p.Step()
	require.NotNil(t, p.Latest())
	require.Equal(t, 1, published)
	require.Equal(t, 2, p.Stats().Endpoints, "what came before the source synced is in")
	require.Equal(t, 1, p.Stats().Policies)
}

func TestSnapshotsFollowEvents(t *testing.T) {
	source := newFakeSource()
	p := newPipeline(t, source)
	web, other, db := pod("web", "web", "n1", "10.0.0.1"), pod("other", "other", "n1", "10.0.0.2"), pod("db", "db", "n2", "10.0.0.3")
	source.put(namespace("shop"), web, other, db, policy("db", "web", "db"))
	source.sync()
	p.Step()
	first := p.Latest()
	require.True(t, admits(first, web, db))
	require.False(t, admits(first, other, db))

	relabelled := pod("other", "web", "n1", "10.0.0.2")
	source.put(relabelled)
	p.Step()
	require.True(t, admits(p.Latest(), relabelled, db))
	require.Greater(t, p.Latest().Revision(), first.Revision())
	require.False(t, admits(first, other, db), "a snapshot stays what it was")

	source.remove(policy("db", "web", "db"), web)
	p.Step()
	require.True(t, admits(p.Latest(), relabelled, db), "without a policy nobody is isolated")
	require.Equal(t, daemon.Stats{Endpoints: 2, Sets: p.Stats().Sets}, p.Stats())
	require.Zero(t, p.Latest().PolicyCount())
}

func TestWhatChangesOftenBeforeTheSourceSyncedIsToldOnce(t *testing.T) {
	source := newFakeSource()
	p := newPipeline(t, source)
	var events []object.Ref
	p.OnPublish(func(got daemon.Published) { events = append(events, got.Events...) })
	web, gone := pod("web", "web", "n", "10.0.0.1"), pod("gone", "web", "n", "10.0.0.2")
	for range 3 {
		source.put(web, gone)
		p.Step()
	}
	source.remove(gone)
	p.Step()
	source.put(web)
	source.sync()
	p.Step()
	require.Equal(t, []object.Ref{refOf(web)}, events, "what came and went before anybody was told is nobody's concern")
	source.remove(web)
	p.Step()
	require.Equal(t, []object.Ref{refOf(web), refOf(web)}, events)
}

func TestWhoAskedIsToldOfEachSnapshotInOrder(t *testing.T) {
	source := newFakeSource()
	p := newPipeline(t, source)
	var order []string
	var told []daemon.Published
	p.OnPublish(func(got daemon.Published) {
		order = append(order, "first")
		told = append(told, got)
		require.Same(t, got.Snapshot, p.Latest(), "who is told can ask for the latest")
	})
	p.OnPublish(func(daemon.Published) { order = append(order, "second") })

	source.put(namespace("shop"), pod("web", "web", "n", "10.0.0.1"))
	p.Step() // not synced: taken in, not told
	source.put(pod("db", "db", "n", "10.0.0.2"))
	source.sync()
	began := time.Now()
	p.Step()
	source.put(pod("web", "api", "n", "10.0.0.1"))
	p.Step()

	require.Equal(t, []string{"first", "second", "first", "second"}, order)
	require.Equal(t, []object.Ref{
		{Kind: watch.KindNamespace, Name: "shop"},
		{Kind: watch.KindPod, Namespace: "shop", Name: "db"},
		{Kind: watch.KindPod, Namespace: "shop", Name: "web"},
	}, told[0].Events, "the first is told all that was drained for it, before the source synced too")
	require.Equal(t, []object.Ref{{Kind: watch.KindPod, Namespace: "shop", Name: "web"}}, told[1].Events)
	require.Equal(t, 2, told[0].Stats.Endpoints)
	require.False(t, told[1].Since.Before(began))
	require.Positive(t, told[1].Took)
}

func TestProblemsOfSourceAndTranslator(t *testing.T) {
	source := newFakeSource()
	p := newPipeline(t, source)
	source.complain(watch.Problem{Where: "a.yaml: document 2", Message: "not a manifest"})
	bad := policy("db", "web", "db")
	bad.Spec.Ingress[0].From[0].PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Resembles"}}
	source.put(namespace("shop"), pod("db", "db", "n", "10.0.0.2"), bad)
	source.sync()
	var counted int
	p.OnPublish(func(got daemon.Published) { counted = got.Problems })
	p.Step()

	problems := p.Problems()
	require.Len(t, problems, 2)
	require.EqualError(t, problems[0], "a.yaml: document 2: not a manifest")
	require.ErrorContains(t, problems[1], "shop/db")
	require.ErrorContains(t, problems[1], "spec.ingress[0].from[0]")
	require.Equal(t, 2, counted)
	problems[0] = nil
	require.Error(t, p.Problems()[0], "the list is a copy")

	source.complain()
	source.put(policy("db", "web", "db"))
	p.Step()
	require.Empty(t, p.Problems())
	require.Zero(t, counted)
}

func TestWhatKeepsTheSourceFromSyncingIsTold(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	source := newFakeSource()
	p := daemon.NewPipeline(source, translator.Options{}, log)
	source.complain(watch.Problem{Where: "pods", Message: "forbidden"})
	for range 2 {
		p.Step()
	}
	require.Nil(t, p.Latest())
	require.Len(t, p.Problems(), 1)
	require.EqualError(t, p.Problems()[0], "pods: forbidden")
	require.Len(t, hook.AllEntries(), 1)

	source.complain()
	source.sync()
	p.Step()
	require.NotNil(t, p.Latest())
	require.Empty(t, p.Problems())
}

func TestProblemsAreLoggedOnce(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	source := newFakeSource()
	p := daemon.NewPipeline(source, translator.Options{}, log)
	source.complain(watch.Problem{Where: "a.yaml", Message: "bad"})
	source.sync()
	for range 3 {
		p.Step()
	}
	require.Len(t, hook.AllEntries(), 1)
	source.complain()
	p.Step()
	source.complain(watch.Problem{Where: "a.yaml", Message: "bad"})
	p.Step()
	require.Len(t, hook.AllEntries(), 2, "what comes back is told again")
}

func TestAnObjectThatIsNotTranslatedIsLeftOut(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	source := newFakeSource()
	p := daemon.NewPipeline(source, translator.Options{}, log)
	source.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}})
	source.put(pod("db", "db", "n", "10.0.0.2"))
	source.sync()
	p.Step()
	require.Equal(t, 1, p.Stats().Endpoints)
	require.Len(t, hook.AllEntries(), 1)
	require.Equal(t, "Secret shop/db", hook.LastEntry().Data["object"])
}

func TestRunStepsWhenWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		p := newPipeline(t, source)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		source.put(pod("db", "db", "n", "10.0.0.2"))
		synctest.Wait()
		require.Nil(t, p.Latest())
		source.sync()
		synctest.Wait()
		require.NotNil(t, p.Latest())
		require.Equal(t, "1 endpoints, 0 sets, 0 policies", daemon.Stats{Endpoints: 1}.String())
		cancel()
		require.NoError(t, <-done)
	})
}
