package clusters_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/clusters"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
)

// broken is a source that cannot list anything.
type broken struct {
	source.Source
	err error // of Run
	was bool  // it listed everything once
}

func (b *broken) Run(ctx context.Context) error {
	if b.err != nil {
		return b.err
	}
	<-ctx.Done()
	return nil
}
func (b *broken) Wake() <-chan struct{} { return nil }
func (b *broken) Synced() bool          { return b.was }
func (b *broken) Drain() []object.Ref   { return nil }
func (b *broken) Problems() []object.Problem {
	return []object.Problem{{Place: object.Place{Path: "pods"}, Message: "refused", Unread: object.UnreadResource}}
}

func TestAClusterThatCannotBeReadIsWaitedForForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clusters.New([]clusters.Cluster{{Name: "b", Source: &broken{}}}, time.Minute, pipelinetest.Log(t))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		require.False(t, s.Ready())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.True(t, s.Ready())
		<-s.Wake()
		require.Equal(t, []string{"degraded: cluster b has not been read: its pods match no policy"}, s.Degraded())
		require.Equal(t, "cluster b: pods: refused; its pods match no policy", s.Problems()[0].Error())
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestReadFailsWithoutACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := clusters.New([]clusters.Cluster{{Name: "b", Source: &broken{}}}, 0, pipelinetest.Log(t))
		require.ErrorContains(t, s.Read(ctx), "cluster b: pods: refused")
		s = clusters.New([]clusters.Cluster{{Name: "b", Source: &broken{err: errors.New("no")}}}, 0, pipelinetest.Log(t))
		require.EqualError(t, s.Read(t.Context()), "cluster b: no")
	})
}

func TestAClusterIsLostBeforeItIsNoticed(t *testing.T) {
	s := clusters.New([]clusters.Cluster{{Name: "b", Source: &broken{was: true}}}, 0, pipelinetest.Log(t))
	require.Equal(t, "cluster b: pods: refused; its pods stay as they are", s.Problems()[0].Error())
}
