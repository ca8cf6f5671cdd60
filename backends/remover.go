package backends

import "context"

// Remover is a backend for which an empty snapshot is not enough to remove everything of its owner from the target. Like the methods of
// Backend, PlanRemoval is called by one goroutine at a time with them.
type Remover interface {
	// PlanRemoval reads back everything that the owner has in the target, also what no snapshot decides on, and plans to remove it.
	// Nothing is kept, see Keeper. Apply writes the plan; afterwards the backend knows nothing of the target.
	PlanRemoval(ctx context.Context) (*Plan, error)
}
