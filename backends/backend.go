package backends

import (
	"context"
	"errors"

	"github.com/netloom/netloom/pkg/intent"
)

// ErrUnreachable is wrapped in the error of a plan whose target could not be reached. A backend that is a Waker wakes
// its loop once it can be.
var ErrUnreachable = errors.New("target cannot be reached")

// Backend keeps one target in sync with a snapshot. Its methods are called by one goroutine at a time.
type Backend interface {
	// Plan compares want with the target and writes nothing. With since zero it reads back everything the backend owns
	// (start, drift check, after an error); otherwise it looks only at what changed after that revision, which must be
	// the one of the last plan that was applied completely, or that had nothing to apply.
	Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*Plan, error)
	// Apply writes p, in order, and stops at the first error. What was written before the error stays.
	Apply(ctx context.Context, p *Plan) error
	// Close releases the connection and leaves the target as it is.
	Close() error
}

// Viewer is a backend to which its target shows changes as they are made. While it cannot see them, what others do is found at the drift
// interval only, so the target does not count as in sync, whatever else works. Its Waker wakes the loop whenever that begins or ends.
type Viewer interface {
	// Blind returns why changes of the target cannot be seen now; nil if they can. Anyone may call it at any time.
	Blind() error
}

// Waker is a backend that notices when the target changed by itself in a way that needs a new plan: a logical port
// appeared, a connection was restored. The channel has size one and carries no data.
type Waker interface {
	Wake() <-chan struct{}
}
