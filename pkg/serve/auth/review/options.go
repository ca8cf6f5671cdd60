package review

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/kubernetes"
)

// ErrUnavailable means that the API could not be asked, so that nothing is known about a client.
var ErrUnavailable = errors.New("the cluster cannot be asked")

// TTL is how long answers are cached. Zero values are the defaults.
type TTL struct {
	Positive time.Duration // a valid token, an allowed request; a minute
	Negative time.Duration // 10 seconds; never more than Positive
}

func (t TTL) complete() TTL {
	if t.Positive <= 0 {
		t.Positive = time.Minute
	}
	if t.Negative <= 0 {
		t.Negative = 10 * time.Second
	}
	t.Negative = min(t.Negative, t.Positive)
	return t
}

// Options configure Tokens and Access. Zero values are the defaults.
type Options struct {
	Client kubernetes.Interface // for the reviews; required, and it should have its own rate limits
	TTL    TTL

	// Entries is how many answers are cached: as many positive as negative ones, which do not compete for room. 8192.
	Entries int
	// Bytes is how much they may hold, again for each of the two. 1 KiB for each entry.
	Bytes int
	// Timeout of one review, including the time to wait for its turn. 10 seconds.
	Timeout time.Duration
	// Turn waits until a review may begin; done is called at its end. An error means that the API is not asked. The user is who is
	// asked about; "" if only a token is known. Nil lets all reviews begin at once.
	Turn func(ctx context.Context, user string) (done func(), err error)
}

const defaultEntries = 8192

func (o Options) complete() Options {
	o.TTL = o.TTL.complete()
	if o.Entries <= 0 {
		o.Entries = defaultEntries
	}
	if o.Bytes <= 0 {
		o.Bytes = o.Entries << 10
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Turn == nil {
		o.Turn = func(context.Context, string) (func(), error) { return func() {}, nil }
	}
	return o
}
