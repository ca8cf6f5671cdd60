package flow_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/flow"
)

func inflight(limit int32) *v1alpha1.FlowControlSchema {
	return &v1alpha1.FlowControlSchema{Name: "s", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: limit}}
}

func bucket(qps, burst int32) *v1alpha1.FlowControlSchema {
	return &v1alpha1.FlowControlSchema{Name: "s", TokenBucket: &v1alpha1.TokenBucket{QPS: qps, Burst: burst}}
}

var exempt = &v1alpha1.FlowControlSchema{Name: "s", Exempt: &v1alpha1.Exempt{}}

func TestExemptRequestsAreNotLimited(t *testing.T) {
	l := flow.New(exempt)
	for range 1000 {
		_, ok := l.Admit(false)
		require.True(t, ok)
	}
}

func TestRequestsInProgressAreLimited(t *testing.T) {
	l := flow.New(inflight(2))
	first, ok := l.Admit(false)
	require.True(t, ok)
	_, ok = l.Admit(false)
	require.True(t, ok)
	_, ok = l.Admit(false)
	require.False(t, ok)
	require.EqualValues(t, 2, l.Inflight(), "a refused request does not count")
	watch, ok := l.Admit(true)
	require.True(t, ok, "a watch is not limited")
	watch()
	_, ok = l.Admit(false)
	require.False(t, ok, "nor does its end make room")
	first()
	_, ok = l.Admit(false)
	require.True(t, ok)
}

func TestTheLimitIsNeverExceeded(t *testing.T) {
	l := flow.New(inflight(3))
	var now, most atomic.Int64
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			for range 200 {
				release, ok := l.Admit(false)
				if !ok {
					continue
				}
				n := now.Add(1)
				for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
				}
				now.Add(-1)
				release()
			}
		})
	}
	wait.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	require.Zero(t, l.Inflight())
}

func TestRatesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := flow.New(bucket(10, 20))
		admitted := 0
		for range 100 * 100 { // 100 seconds
			if _, ok := l.Admit(true); ok {
				admitted++
			}
			time.Sleep(10 * time.Millisecond)
		}
		require.InDelta(t, 20+10*100, admitted, 0.05*1020)
	})
}

func TestLimitsChangeInPlace(t *testing.T) {
	l := flow.New(inflight(1))
	release, ok := l.Admit(false)
	require.True(t, ok)
	require.True(t, l.Update(inflight(2)))
	_, ok = l.Admit(false)
	require.True(t, ok)
	_, ok = l.Admit(false)
	require.False(t, ok, "the request from before the change still counts")
	require.True(t, l.Update(inflight(1)))
	release()
	_, ok = l.Admit(false)
	require.False(t, ok, "one is still in progress")
	require.False(t, l.Update(bucket(1, 1)))
	require.False(t, l.Update(exempt))

	synctest.Test(t, func(t *testing.T) {
		l := flow.New(bucket(1, 1))
		_, ok := l.Admit(false)
		require.True(t, ok)
		require.True(t, l.Update(bucket(100, 100)))
		_, ok = l.Admit(false)
		require.False(t, ok, "a change gives no tokens back")
		time.Sleep(10 * time.Millisecond)
		_, ok = l.Admit(false)
		require.True(t, ok, "they come at the new rate")
		time.Sleep(time.Minute)
		admitted := 0
		for range 200 {
			if _, ok := l.Admit(false); ok {
				admitted++
			}
		}
		require.Equal(t, 100, admitted, "in bursts of the new size")
	})
	require.True(t, flow.New(exempt).Update(exempt))
	require.False(t, flow.New(exempt).Update(bucket(1, 1)))
}

// TestRefusedClientsReturnSpread checks that many clients are told to return over the time that the limit needs for them.
func TestRefusedClientsReturnSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := flow.New(bucket(10, 10))
		seconds := map[int]int{}
		for range 1000 {
			after := l.RetryAfter()
			require.GreaterOrEqual(t, after, 1)
			require.LessOrEqual(t, after, 60)
			seconds[after]++
		}
		require.Greater(t, len(seconds), 20)
		time.Sleep(time.Minute)
		require.LessOrEqual(t, l.RetryAfter(), 3, "a single client does not wait for long")
		require.LessOrEqual(t, flow.New(exempt).RetryAfter(), 3)
	})
}

func TestRequestsWaitForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := flow.New(inflight(1))
		first, err := l.Wait(t.Context(), false)
		require.NoError(t, err)
		admitted := make(chan func(), 3)
		for range 3 {
			go func() {
				release, err := l.Wait(t.Context(), false)
				if err == nil {
					admitted <- release
				}
			}()
		}
		synctest.Wait()
		require.Empty(t, admitted)
		first()
		synctest.Wait()
		require.Len(t, admitted, 1)
		require.True(t, l.Update(inflight(3)))
		synctest.Wait()
		require.Len(t, admitted, 3, "each wakes the next")
		for range 3 {
			(<-admitted)()
		}
		require.Zero(t, l.Inflight())
	})
	synctest.Test(t, func(t *testing.T) {
		l := flow.New(bucket(10, 10))
		began := time.Now()
		for range 30 {
			_, err := l.Wait(t.Context(), false)
			require.NoError(t, err)
		}
		require.InDelta(t, 2, time.Since(began).Seconds(), 0.01)
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l := flow.New(inflight(1))
	_, err := l.Wait(ended, false)
	require.NoError(t, err)
	_, err = l.Wait(ended, false)
	require.ErrorIs(t, err, context.Canceled)
	_, err = l.Wait(ended, true)
	require.NoError(t, err, "watches do not count")
	var none *flow.Limiter
	_, err = none.Wait(ended, false)
	require.NoError(t, err)
}

// TestAShareIsAtMostTheLimitOfOneInstance gives a limiter shares of a limit of all instances, and changes the limit.
func TestAShareIsAtMostTheLimitOfOneInstance(t *testing.T) {
	schema := &v1alpha1.FlowControlSchema{
		Name: "slow", Strategy: v1alpha1.StrategyGlobalAllocate,
		MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 10}, GlobalMaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 15},
	}
	l := flow.New(schema)
	require.InDelta(t, 10, l.Limit(), 0, "there is no share yet")
	l.Share(3)
	require.InDelta(t, 3, l.Limit(), 0)
	l.Share(12)
	require.InDelta(t, 10, l.Limit(), 0)
	l.Share(3)
	lower := schema.DeepCopy()
	lower.MaxRequestsInflight.Max = 2
	require.True(t, l.Update(lower))
	require.InDelta(t, 2, l.Limit(), 0)
	local := schema.DeepCopy()
	local.Strategy = v1alpha1.StrategyLocal
	require.True(t, l.Update(local))
	require.InDelta(t, 10, l.Limit(), 0, "the share is forgotten")
	l.Share(3)
	l.Share(-1)
	require.InDelta(t, 10, l.Limit(), 0, "the others are away")

	rate := flow.New(&v1alpha1.FlowControlSchema{
		Name: "slow", Strategy: v1alpha1.StrategyGlobalAllocate,
		TokenBucket: &v1alpha1.TokenBucket{QPS: 10, Burst: 20}, GlobalTokenBucket: &v1alpha1.TokenBucket{QPS: 15, Burst: 30},
	})
	synctest.Test(t, func(t *testing.T) {
		rate.Share(2.5)
		require.InDelta(t, 2.5, rate.Limit(), 0)
		admitted := 0
		for range 20 {
			if _, ok := rate.Admit(false); ok {
				admitted++
			}
		}
		require.Equal(t, 5, admitted, "the burst is divided, too")
	})
}
