package flow

import (
	"context"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

// Limiter is one schema. Nil admits everything. It is safe for concurrent use.
type Limiter struct {
	max      atomic.Int64 // requests in progress; 0 if they are not limited
	inflight atomic.Int64
	bucket   *rate.Limiter // nil if the rate is not limited
	refusals refusals
	freed    chan struct{} // wakes one of the requests that wait for a place
}

// New returns the limiter of a schema.
func New(schema *v1alpha1.FlowControlSchema) *Limiter {
	switch {
	case schema.MaxRequestsInflight != nil:
		l := &Limiter{freed: make(chan struct{}, 1)}
		l.max.Store(int64(schema.MaxRequestsInflight.Max))
		return l
	case schema.TokenBucket != nil:
		return &Limiter{bucket: rate.NewLimiter(rate.Limit(schema.TokenBucket.QPS), int(schema.TokenBucket.Burst))}
	default:
		return nil
	}
}

// Update changes the limit in place, so that requests in progress still count and no tokens are given back. It returns false
// if schema is of another type than the limiter, which needs a new one.
func (l *Limiter) Update(schema *v1alpha1.FlowControlSchema) bool {
	switch {
	case l == nil:
		return schema.MaxRequestsInflight == nil && schema.TokenBucket == nil
	case schema.MaxRequestsInflight != nil && l.bucket == nil:
		l.max.Store(int64(schema.MaxRequestsInflight.Max))
		l.wake()
		return true
	case schema.TokenBucket != nil && l.bucket != nil:
		l.bucket.SetLimit(rate.Limit(schema.TokenBucket.QPS))
		l.bucket.SetBurst(int(schema.TokenBucket.Burst))
		return true
	default:
		return false
	}
}

// Admit reports whether a request may go on. If so, release must be called once it has ended. Long-running requests do not
// count as requests in progress: a watch would hold its place for hours.
func (l *Limiter) Admit(longRunning bool) (release func(), ok bool) {
	switch {
	case l == nil:
	case l.bucket != nil:
		if !l.bucket.Allow() {
			return nil, false
		}
	case !longRunning:
		if l.inflight.Add(1) > l.max.Load() {
			l.inflight.Add(-1)
			return nil, false
		}
		return func() {
			l.inflight.Add(-1)
			l.wake()
		}, true
	}
	return func() {}, true
}

// Wait waits until Admit would admit the request. If it returns no error, release must be called once the request has ended.
func (l *Limiter) Wait(ctx context.Context, longRunning bool) (release func(), err error) {
	if l != nil && l.bucket != nil {
		return func() {}, l.bucket.Wait(ctx)
	}
	for {
		if release, ok := l.Admit(longRunning); ok {
			if l != nil {
				l.wake() // there may be room for another
			}
			return release, nil
		}
		select {
		case <-l.freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *Limiter) wake() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// Inflight returns how many requests are in progress, if their number is limited.
func (l *Limiter) Inflight() int64 {
	if l == nil {
		return 0
	}
	return l.inflight.Load()
}
