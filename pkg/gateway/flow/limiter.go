package flow

import (
	"context"
	"math"
	"sync"
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
	demand   demand

	mu     sync.Mutex // held by Update and Share
	schema *v1alpha1.FlowControlSchema
	share  float64 // of the global limit; negative if there is none
}

// alone is no share: the limit is that of this instance.
const alone = -1

// New returns the limiter of a schema.
func New(schema *v1alpha1.FlowControlSchema) *Limiter {
	var l *Limiter
	switch {
	case schema.MaxRequestsInflight != nil:
		l = &Limiter{freed: make(chan struct{}, 1)}
	case schema.TokenBucket != nil:
		l = &Limiter{bucket: rate.NewLimiter(rate.Limit(schema.TokenBucket.QPS), int(schema.TokenBucket.Burst))}
	default:
		return nil
	}
	l.schema, l.share = schema, alone
	l.apply()
	return l
}

// Update changes the limit in place, so that requests in progress still count and no tokens are given back. It returns false
// if schema is of another type than the limiter, which needs a new one.
func (l *Limiter) Update(schema *v1alpha1.FlowControlSchema) bool {
	if l == nil {
		return schema.MaxRequestsInflight == nil && schema.TokenBucket == nil
	}
	if (schema.MaxRequestsInflight != nil) != (l.bucket == nil) || (schema.TokenBucket != nil) != (l.bucket != nil) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schema = schema
	if !schema.Divided() {
		l.share = alone
	}
	l.apply()
	return true
}

// Share sets what this instance has of the global limit of the schema, at most the limit of one instance. A negative share is that limit.
func (l *Limiter) Share(share float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.share = share
	l.apply()
}

// apply sets the limit. The caller holds the lock.
func (l *Limiter) apply() {
	if l.bucket == nil {
		most := int64(l.schema.MaxRequestsInflight.Max)
		if l.share >= 0 {
			most = min(most, int64(l.share))
		}
		l.max.Store(most)
		l.wake()
		return
	}
	qps, burst := float64(l.schema.TokenBucket.QPS), float64(l.schema.TokenBucket.Burst)
	if all := l.schema.GlobalTokenBucket; l.share >= 0 && all != nil {
		burst = min(burst, max(1, math.Round(float64(all.Burst)*l.share/float64(all.QPS))))
		qps = min(qps, l.share)
	}
	l.bucket.SetLimit(rate.Limit(qps))
	l.bucket.SetBurst(int(burst))
}

// Limit returns the limit at present: requests per second, or at a time.
func (l *Limiter) Limit() float64 {
	if l.bucket == nil {
		return float64(l.max.Load())
	}
	return float64(l.bucket.Limit())
}

// Admit reports whether a request may go on. If so, release must be called once it has ended. Long-running requests do not
// count as requests in progress: a watch would hold its place for hours.
func (l *Limiter) Admit(longRunning bool) (release func(), ok bool) {
	switch {
	case l == nil:
	case l.bucket != nil:
		ok := l.bucket.Allow()
		l.demand.count(ok)
		if !ok {
			return nil, false
		}
	case !longRunning:
		now := l.inflight.Add(1)
		ok := now <= l.max.Load()
		l.demand.count(ok)
		if !ok {
			l.inflight.Add(-1)
			return nil, false
		}
		l.demand.reach(now)
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
