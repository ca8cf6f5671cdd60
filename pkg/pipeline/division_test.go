package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
)

// partsOf returns the parts of the only rule of a policy.
func partsOf(t *testing.T, s *intent.Snapshot, name string) []intent.Part {
	t.Helper()
	p := s.Policy(intent.NewPolicyID(intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: name}, intent.Ingress))
	require.NotNil(t, p, name)
	return p.Rules[0].Parts
}

// TestOthersAreDividedAgainOnceASecond gives policies a peer in common with one that comes, and one that comes and goes. What it is itself is in
// the next snapshot; the others follow within a second, if there is still a reason, and then the snapshot is that of a translator that starts.
func TestOthersAreDividedAgainOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pipelinetest.New()
		p := newPipeline(t, src)
		var mu sync.Mutex
		var policies []int // changed in each snapshot
		changed := func() []int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(policies)
		}
		last := intent.Revision(0)
		p.OnPublish(func(got pipeline.Published) {
			changes, _ := got.Snapshot.Since(last)
			n := 0
			for _, c := range changes {
				n += len(c.Policies)
			}
			mu.Lock()
			defer mu.Unlock()
			policies, last = append(policies, n), got.Snapshot.Revision()
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		defer func() { cancel(); require.NoError(t, <-done) }()

		src.Put(pipelinetest.Namespace("shop"), pipelinetest.Policy("a", "web", "a"), pipelinetest.Policy("z", "lab", "z"))
		src.Sync()
		synctest.Wait()
		require.Empty(t, partsOf(t, p.Latest(), "a"))
		before := len(changed())

		src.Put(pipelinetest.Policy("b", "web", "b"))
		synctest.Wait()
		require.Len(t, partsOf(t, p.Latest(), "b"), 1)
		require.Empty(t, partsOf(t, p.Latest(), "a"), "it did not change")
		src.Put(pipelinetest.Policy("y", "lab", "y"))
		synctest.Wait()
		src.Remove(pipelinetest.Policy("y", "lab", "y"))
		require.Equal(t, []int{1, 1, 1}, changed()[before:])
		time.Sleep(2 * time.Second)
		require.Equal(t, []int{1, 1, 1, 1}, changed()[before:], "one round, for a alone: z is as it was")
		require.Len(t, partsOf(t, p.Latest(), "a"), 1)
		time.Sleep(time.Hour)
		require.Len(t, changed()[before:], 4, "none wait")
	})
}

// TestARoundDividesFewOthers gives 600 policies a peer in common with another one each, at once.
func TestARoundDividesFewOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, most = 600, 500
		src := pipelinetest.New()
		p := newPipeline(t, src)
		fresh := translator.New(translator.Options{})
		put := func(prefix string) {
			for i := range many {
				o := pipelinetest.Policy(fmt.Sprint(prefix, i), fmt.Sprint("web", i), fmt.Sprint(prefix, i))
				src.Put(o)
				require.NoError(t, fresh.Put(o))
			}
		}
		src.Put(pipelinetest.Namespace("shop"))
		put("a")
		src.Sync()
		p.Step()
		put("b")
		p.Step()
		for p.Waits() {
			p.Step()
		}
		waiting := p.Translator().Waiting()
		require.Equal(t, many, waiting)
		for range 5 {
			time.Sleep(time.Second)
			p.Step()
			now := p.Translator().Waiting()
			require.LessOrEqual(t, waiting-now, most)
			waiting = now
		}
		require.Zero(t, waiting)
		for want := range fresh.Snapshot().Policies() {
			require.Equal(t, want.Rules, p.Latest().Policy(want.ID).Rules)
		}
	})
}
