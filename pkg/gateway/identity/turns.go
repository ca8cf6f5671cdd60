package identity

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// reviewsAtOnce is how many access reviews of one user are under way at a time. A cluster reviews about 50 a second by default, in
// the order in which they were asked for: one user, who may send requests with ever new selectors, is ahead of others with so many.
const reviewsAtOnce = 4

// turns has the reviews of each user wait for one another. It is safe for concurrent use.
type turns struct {
	mu    sync.Mutex
	users map[string]*turn // who have a review under way
}

// turn is what the reviews of one user share.
type turn struct {
	free   *semaphore.Weighted
	wanted int // reviews that wait or are under way
}

func newTurns() *turns { return &turns{users: map[string]*turn{}} }

// take waits until another review of the user may begin. If there is no error, done must be called at its end.
func (t *turns) take(ctx context.Context, user string) (done func(), err error) {
	t.mu.Lock()
	mine := t.users[user]
	if mine == nil {
		mine = &turn{free: semaphore.NewWeighted(reviewsAtOnce)}
		t.users[user] = mine
	}
	mine.wanted++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.wanted--; mine.wanted == 0 {
			delete(t.users, user)
		}
	}
	if err := mine.free.Acquire(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	return func() {
		mine.free.Release(1)
		leave()
	}, nil
}
