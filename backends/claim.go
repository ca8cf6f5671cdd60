package backends

import (
	"context"
	"errors"
)

// ErrDeposed is wrapped in the error of an Apply that its target refused completely, because another instance has
// claimed the target since. Retrying is useless before the next Claim.
var ErrDeposed = errors.New("another instance has claimed the target")

// Claimer is a backend that can claim its target against other instances of the same owner. Like the methods of
// Backend, Claim is called by one goroutine at a time with them.
type Claimer interface {
	// Claim makes this the only instance that may write, and returns the number of the claim: one more than that of the
	// last claim by any instance. From then on the target checks, within each transaction, that no later claim was made;
	// one that comes too late fails with ErrDeposed and changes nothing. If a target has lost its record of claims, for
	// example because a backup was restored, the instance that had the claim restores it: a transaction fails, with
	// another error, and the next plan has to read back. The holder is a human-readable name, such as that of a pod.
	//
	// A backend that never claimed writes unchecked. One whose claim failed writes nothing before another one succeeds. A
	// caller that claims because of a lock elsewhere makes sure, after the claim and before the first write, that it
	// still has the lock: an instance that takes the lock later also claims later.
	Claim(ctx context.Context, holder string) (generation uint64, err error)
}
