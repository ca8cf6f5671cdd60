package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
)

func newPipeline(t *testing.T, source source.Source) *pipeline.Pipeline {
	return pipeline.New(source, translator.Options{}, pipelinetest.Log(t))
}

func TestNothingIsPublishedBeforeTheSourceSynced(t *testing.T) {
	source := pipelinetest.New()
	p := newPipeline(t, source)
	published := 0
	p.OnPublish(func(pipeline.Published) { published++ })

	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web", "web", "n", "10.0.0.1"), pipelinetest.Pod("db", "db", "n", "10.0.0.2"))
	p.Step()
	source.Put(pipelinetest.Policy("db", "web", "db"))
	p.Step()
	require.Nil(t, p.Latest())
	require.Zero(t, published)
	require.Zero(t, p.Stats())

	source.Sync()
	p.Step()
	require.NotNil(t, p.Latest())
	require.Equal(t, 1, published)
	require.Equal(t, 2, p.Stats().Endpoints, "what came before the source synced is in")
	require.Equal(t, 1, p.Stats().Policies)
}

func TestSnapshotsFollowEvents(t *testing.T) {
	source := pipelinetest.New()
	p := newPipeline(t, source)
	web, other, db := pipelinetest.Pod("web", "web", "n1", "10.0.0.1"), pipelinetest.Pod("other", "other", "n1", "10.0.0.2"), pipelinetest.Pod("db", "db", "n2", "10.0.0.3")
	source.Put(pipelinetest.Namespace("shop"), web, other, db, pipelinetest.Policy("db", "web", "db"))
	source.Sync()
	p.Step()
	first := p.Latest()
	require.True(t, pipelinetest.Admits(first, web, db))
	require.False(t, pipelinetest.Admits(first, other, db))

	relabelled := pipelinetest.Pod("other", "web", "n1", "10.0.0.2")
	source.Put(relabelled)
	p.Step()
	require.True(t, pipelinetest.Admits(p.Latest(), relabelled, db))
	require.Greater(t, p.Latest().Revision(), first.Revision())
	require.False(t, pipelinetest.Admits(first, other, db), "a snapshot stays what it was")

	source.Remove(pipelinetest.Policy("db", "web", "db"), web)
	p.Step()
	require.True(t, pipelinetest.Admits(p.Latest(), relabelled, db), "without a policy no pod is isolated")
	require.Equal(t, pipeline.Stats{Endpoints: 2, Sets: p.Stats().Sets}, p.Stats())
	require.Zero(t, p.Latest().PolicyCount())
}

func TestWhatChangesOftenBeforeTheSourceSyncedIsPublishedOnce(t *testing.T) {
	source := pipelinetest.New()
	p := newPipeline(t, source)
	var events []object.Ref
	p.OnPublish(func(got pipeline.Published) { events = append(events, got.Events...) })
	web, gone := pipelinetest.Pod("web", "web", "n", "10.0.0.1"), pipelinetest.Pod("gone", "web", "n", "10.0.0.2")
	for range 3 {
		source.Put(web, gone)
		p.Step()
	}
	source.Remove(gone)
	p.Step()
	source.Put(web)
	source.Sync()
	p.Step()
	require.Equal(t, []object.Ref{pipelinetest.RefOf(web)}, events, "what came and went before the first snapshot is not reported")
	source.Remove(web)
	p.Step()
	require.Equal(t, []object.Ref{pipelinetest.RefOf(web), pipelinetest.RefOf(web)}, events)
}

func TestEverySnapshotIsPublishedInOrder(t *testing.T) {
	src := pipelinetest.New()
	p := newPipeline(t, src)
	var order []string
	var published []pipeline.Published
	p.OnPublish(func(got pipeline.Published) {
		order = append(order, "first")
		published = append(published, got)
		require.Same(t, got.Snapshot, p.Latest(), "the published snapshot is the latest")
	})
	p.OnPublish(func(pipeline.Published) { order = append(order, "second") })

	src.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web", "web", "n", "10.0.0.1"))
	p.Step() // not synced: drained, but not published
	src.Put(pipelinetest.Pod("db", "db", "n", "10.0.0.2"))
	src.Sync()
	began := time.Now()
	p.Step()
	src.Put(pipelinetest.Pod("web", "api", "n", "10.0.0.1"))
	p.Step()

	require.Equal(t, []string{"first", "second", "first", "second"}, order)
	require.Equal(t, []object.Ref{
		{Kind: object.KindNamespace, Name: "shop"},
		{Kind: object.KindPod, Namespace: "shop", Name: "db"},
		{Kind: object.KindPod, Namespace: "shop", Name: "web"},
	}, published[0].Events, "the first has all that was drained for it, before the source synced too")
	require.Equal(t, []object.Ref{{Kind: object.KindPod, Namespace: "shop", Name: "web"}}, published[1].Events)
	require.Equal(t, 2, published[0].Stats.Endpoints)
	require.False(t, published[1].Since.Before(began))
	require.Positive(t, published[1].Took)
}

func TestProblemsOfSourceAndTranslator(t *testing.T) {
	source := pipelinetest.New()
	p := newPipeline(t, source)
	source.SetProblems(object.Problem{Place: object.Place{Path: "a.yaml", Document: 2}, Message: "not a manifest"})
	bad := pipelinetest.Policy("db", "web", "db")
	bad.Spec.Ingress[0].From[0].PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Resembles"}}
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("db", "db", "n", "10.0.0.2"), bad)
	source.Sync()
	var counted int
	p.OnPublish(func(got pipeline.Published) { counted = len(got.Problems) })
	p.Step()

	problems := p.Problems()
	require.Len(t, problems, 2)
	require.ErrorContains(t, problems[0], "shop/db")
	require.ErrorContains(t, problems[0], "spec.ingress[0].from[0]")
	require.EqualError(t, problems[1], "a.yaml: document 2: not a manifest")
	require.Equal(t, 2, counted)
	p.Step()
	require.True(t, object.SameProblems(problems, p.Problems()), "there is nothing new to look at")

	source.SetProblems()
	source.Put(pipelinetest.Policy("db", "web", "db"))
	p.Step()
	require.Empty(t, p.Problems())
	require.Zero(t, counted)
}

func TestWhatKeepsTheSourceFromSyncingIsReported(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	source := pipelinetest.New()
	p := pipeline.New(source, translator.Options{}, log)
	source.SetProblems(object.Problem{Place: object.Place{Path: "pods"}, Message: "forbidden"})
	for range 2 {
		p.Step()
	}
	require.Nil(t, p.Latest())
	require.Len(t, p.Problems(), 1)
	require.EqualError(t, p.Problems()[0], "pods: forbidden")
	require.Len(t, hook.AllEntries(), 1)

	source.SetProblems()
	source.Sync()
	p.Step()
	require.NotNil(t, p.Latest())
	require.Empty(t, p.Problems())
}

func TestProblemsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, hook := logtest.NewNullLogger()
		source := pipelinetest.New()
		p := pipeline.New(source, translator.Options{}, log)
		bad := object.Problem{Place: object.Place{Path: "a.yaml"}, Message: "bad"}
		source.SetProblems(bad)
		source.Sync()
		for range 3 {
			p.Step()
		}
		require.Len(t, hook.AllEntries(), 1)
		for range 3 {
			source.SetProblems()
			p.Step()
			source.SetProblems(bad)
			p.Step()
		}
		require.Len(t, hook.AllEntries(), 1, "what comes back")
		time.Sleep(time.Minute)
		p.Step()
		require.Len(t, hook.AllEntries(), 2, "is logged once a minute")
	})
}

func TestAnObjectThatIsNotTranslatedIsLeftOut(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	source := pipelinetest.New()
	p := pipeline.New(source, translator.Options{}, log)
	source.Put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}})
	source.Put(pipelinetest.Pod("db", "db", "n", "10.0.0.2"))
	source.Sync()
	p.Step()
	require.Equal(t, 1, p.Stats().Endpoints)
	require.Len(t, hook.AllEntries(), 1)
	require.Equal(t, "Secret shop/db", hook.LastEntry().Data["object"])
}

func TestRunStepsWhenWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := pipelinetest.New()
		p := newPipeline(t, source)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		source.Put(pipelinetest.Pod("db", "db", "n", "10.0.0.2"))
		synctest.Wait()
		require.Nil(t, p.Latest())
		source.Sync()
		synctest.Wait()
		require.NotNil(t, p.Latest())
		require.Equal(t, "1 endpoints, 0 sets, 0 policies", pipeline.Stats{Endpoints: 1}.String())
		cancel()
		require.NoError(t, <-done)
	})
}

// flooding is a policy that takes more than a slice.
func flooding(i int) *networkingv1.NetworkPolicy {
	p := pipelinetest.Policy(fmt.Sprint("flood", i), "web", "db")
	p.Namespace = "flood"
	block := &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}
	for k := range 200 {
		block.Except = append(block.Except, fmt.Sprintf("10.%d.%d.7/32", i, k))
	}
	p.Spec.Ingress[0].From = []networkingv1.NetworkPolicyPeer{{IPBlock: block}}
	return p
}

// TestOthersDoNotWaitForANamespaceThatChangesMuch has targets that are behind now and then.
func TestOthersDoNotWaitForANamespaceThatChangesMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pipelinetest.New()
		p := newPipeline(t, src)
		var follows atomic.Bool
		p.Follow(func(intent.Revision) bool { return follows.Load() })
		var mu sync.Mutex
		var list []string
		p.OnPublish(func(got pipeline.Published) {
			mu.Lock()
			defer mu.Unlock()
			for _, ref := range got.Events {
				list = append(list, ref.Name)
			}
		})
		events := func() string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(list, " ")
		}
		src.Put(pipelinetest.Namespace("shop"), flooding(0), flooding(1))
		src.Sync()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = p.Run(ctx) }()
		require.Equal(t, "shop flood0 flood1", events(), "the first snapshot has everything")

		began := time.Now()
		src.Put(flooding(2))
		synctest.Wait()
		src.Put(flooding(3), flooding(4))
		synctest.Wait()
		src.Put(pipelinetest.Policy("small", "web", "db"))
		require.Equal(t, "shop flood0 flood1 flood2 small", events())
		require.True(t, p.Waits())
		require.Equal(t, began, p.Oldest(p.Latest().Revision()), "what waits is not in force")
		time.Sleep(999 * time.Millisecond)
		require.Equal(t, "shop flood0 flood1 flood2 small", events())
		time.Sleep(time.Millisecond)
		require.Equal(t, "shop flood0 flood1 flood2 small flood3", events(), "it does not wait for ever")
		follows.Store(true)
		p.Nudge()
		require.Equal(t, "shop flood0 flood1 flood2 small flood3 flood4", events())
		require.False(t, p.Waits())
		require.Equal(t, 6, p.Latest().PolicyCount())
		require.Equal(t, began, p.Oldest(p.Latest().Revision()-1), "a target that lacks the last slice is not in sync, although nothing waits")
		require.Zero(t, p.Oldest(p.Latest().Revision()))
	})
}

// TestAFloodOfAnySizeComesOneByOne counts how many policies of a flood go into force before and with a policy of others that comes when
// the flood is there, for floods of different sizes: the one that was under way.
func TestAFloodOfAnySizeComesOneByOne(t *testing.T) {
	for _, size := range []int{2, 20, 200} {
		synctest.Test(t, func(t *testing.T) {
			src := pipelinetest.New()
			p := newPipeline(t, src)
			p.Follow(func(intent.Revision) bool { return true }) // targets are as quick as can be
			src.Put(pipelinetest.Namespace("shop"))
			src.Sync()
			p.Step()
			var order []string
			p.OnPublish(func(got pipeline.Published) {
				for _, ref := range got.Events {
					order = append(order, ref.Namespace)
				}
			})
			for i := range size {
				src.Put(flooding(i))
			}
			p.Step()
			src.Put(pipelinetest.Policy("small", "web", "db"))
			p.Step()
			require.Equal(t, "flood shop", strings.Join(order, " "), "of %d", size)
			for range size {
				p.Step()
			}
			require.Len(t, order, size+1, "all of the flood is in force in the end")
		})
	}
}
