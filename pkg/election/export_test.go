package election

import "context"

// Confirm reads whether this instance holds the Lease.
func (e *Election) Confirm(ctx context.Context) bool { return e.confirm(ctx) }
