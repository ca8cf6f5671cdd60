package election

import "context"

// Confirm asks whether this instance holds the Lease.
func (e *Election) Confirm(ctx context.Context) bool { return e.confirm(ctx) }
