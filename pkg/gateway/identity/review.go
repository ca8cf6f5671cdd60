package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// ErrUnavailable means that the cluster could not be asked, so that nothing is known about a client.
var ErrUnavailable = errors.New("the cluster cannot be asked")

const (
	cached        = 8192             // results of each kind
	reviewTimeout = 10 * time.Second // of a request to the cluster
)

// TTL is how long results of reviews are cached. Zero values are the defaults.
type TTL struct {
	Positive time.Duration // a valid token, an allowed request; a minute
	Negative time.Duration // 10 seconds
}

func (t TTL) complete() TTL {
	if t.Positive <= 0 {
		t.Positive = time.Minute
	}
	if t.Negative <= 0 {
		t.Negative = 10 * time.Second
	}
	return t
}

// reviews caches results, and has equal requests at one time ask once. Positive and negative results do not compete for
// room: a flood of made-up tokens evicts no user.
type reviews[T any] struct {
	ttl      TTL
	positive *cache.LRUExpireCache
	negative *cache.LRUExpireCache
	flight   singleflight.Group
}

func newReviews[T any](ttl TTL) *reviews[T] {
	return &reviews[T]{ttl: ttl.complete(), positive: cache.NewLRUExpireCache(cached), negative: cache.NewLRUExpireCache(cached)}
}

// result is what a review found.
type result[T any] struct {
	value    T
	positive bool
	final    bool // it may be cached
}

// get returns the result under key, or asks. A request that is given up does not end the review, which others wait for.
func (r *reviews[T]) get(ctx context.Context, key [32]byte, ask func(context.Context) (result[T], error)) (value T, positive bool, err error) {
	for _, from := range []*cache.LRUExpireCache{r.positive, r.negative} {
		if kept, ok := from.Get(key); ok {
			if found, ok := kept.(result[T]); ok {
				return found.value, found.positive, nil
			}
		}
	}
	asked := r.flight.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		found, err := ask(ctx)
		switch {
		case err != nil:
			return nil, err
		case found.positive && found.final:
			r.positive.Add(key, found, r.ttl.Positive)
		case found.final:
			r.negative.Add(key, found, r.ttl.Negative)
		}
		return found, nil
	})
	select {
	case <-ctx.Done():
		return value, false, ctx.Err()
	case got := <-asked:
		if got.Err != nil {
			return value, false, fmt.Errorf("%w: %w", ErrUnavailable, got.Err)
		}
		found, _ := got.Val.(result[T])
		return found.value, found.positive, nil
	}
}
