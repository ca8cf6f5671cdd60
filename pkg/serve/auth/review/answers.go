package review

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// answer is what a review found.
type answer[T any] struct {
	value    T
	positive bool
	final    bool // it may be cached
	size     int  // about how many bytes the value holds
}

// answers caches what reviews of one kind found, and has those who need the same answer at one time share a review. Positive and
// negative answers do not compete for room: a flood of made-up tokens evicts no user. It is safe for concurrent use.
type answers[T any] struct {
	timeout time.Duration
	turn    func(ctx context.Context, user string) (done func(), err error)

	mu       sync.Mutex
	positive *kept[T]
	negative *kept[T]
	underWay map[digest]*underWay[T]
}

// underWay is a review that has not ended. found and err are set when done is closed.
type underWay[T any] struct {
	cancel  context.CancelFunc
	waiting int  // those who wait for it
	begun   bool // it has got its turn
	done    chan struct{}
	found   answer[T]
	err     error
}

func newAnswers[T any](opts Options) *answers[T] {
	return &answers[T]{
		timeout: opts.Timeout, turn: opts.Turn,
		positive: newKept[T](opts.TTL.Positive, opts.Entries, opts.Bytes), negative: newKept[T](opts.TTL.Negative, opts.Entries, opts.Bytes),
		underWay: map[digest]*underWay[T]{},
	}
}

// get returns the answer under key, or asks about a user once it is its turn. A request that is given up does not end a review that has
// begun: who asks again gets its answer, also if each of them gives up sooner. One that waits for its turn waits no longer than somebody
// waits for it. The error is ErrUnavailable, or that of ctx.
func (a *answers[T]) get(ctx context.Context, key digest, user string, ask func(context.Context) (answer[T], error)) (answer[T], error) {
	review, found, ok := a.join(ctx, key, user, ask)
	if ok {
		return found, nil
	}
	select {
	case <-ctx.Done():
		a.leave(key, review)
		return answer[T]{}, fmt.Errorf("wait for a review: %w", ctx.Err())
	case <-review.done:
		if review.err != nil {
			return answer[T]{}, fmt.Errorf("%w: %w", ErrUnavailable, review.err)
		}
		return review.found, nil
	}
}

// join returns the answer that is cached under key, or the review to wait for, which it begins if there is none.
func (a *answers[T]) join(
	ctx context.Context, key digest, user string, ask func(context.Context) (answer[T], error),
) (*underWay[T], answer[T], bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, from := range []*kept[T]{a.positive, a.negative} {
		if found, ok := from.find(key, now); ok {
			return nil, found, true
		}
	}
	review := a.underWay[key]
	if review == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.timeout)
		review = &underWay[T]{cancel: cancel, done: make(chan struct{})}
		a.underWay[key] = review
		go func() {
			defer cancel()
			found, err := a.review(ctx, review, user, ask)
			a.end(key, review, found, err)
		}()
	}
	review.waiting++
	return review, answer[T]{}, false
}

// review asks once it is its turn.
func (a *answers[T]) review(ctx context.Context, review *underWay[T], user string, ask func(context.Context) (answer[T], error)) (answer[T], error) {
	done, err := a.turn(ctx, user)
	if err != nil {
		return answer[T]{}, err
	}
	defer done()
	a.mu.Lock()
	review.begun = true
	a.mu.Unlock()
	return ask(ctx)
}

// end is called when a review has ended. What everyone gave up before its turn is not cached: a newer review may have found something else.
func (a *answers[T]) end(key digest, review *underWay[T], found answer[T], err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	review.found, review.err = found, err
	close(review.done)
	if !a.forget(key, review) || err != nil || !found.final {
		return
	}
	into := a.negative
	if found.positive {
		into = a.positive
	}
	into.keep(key, found, time.Now())
}

// leave stops waiting for a review. Without its turn and anybody who waits, it is cancelled.
func (a *answers[T]) leave(key digest, review *underWay[T]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if review.waiting--; review.waiting == 0 && !review.begun {
		review.cancel()
		a.forget(key, review)
	}
}

// forget has the next one who needs the answer begin a review. It returns false if that was so before. The caller holds the lock.
func (a *answers[T]) forget(key digest, review *underWay[T]) bool {
	if a.underWay[key] != review {
		return false
	}
	delete(a.underWay, key)
	return true
}
