package backends

import (
	"context"
	"errors"
)

// ErrDeposed is in the error of an Apply that its target refused, whole, because another instance has claimed the target
// since. Trying again is of no use before the next Claim.
var ErrDeposed = errors.New("another instance has claimed the target")

// Claimer is a backend that can hold its target against other instances of the same owner. Like the methods of Backend,
// Claim is called by one goroutine at a time with them.
type Claimer interface {
	// Claim makes this the only instance that may write, and returns the number of the claim: one more than that of the
	// last claim by anybody. From then on the target checks, within each transaction, that no later claim was made; one
	// that comes too late fails with ErrDeposed and changes nothing. A target that has lost its record of claims, as one
	// that was set back to a backup, is given back the claim of whoever held it: a transaction fails, with another error,
	// and the next plan has to read back. The holder is a name for people, such as that of a pod.
	//
	// A backend that never claimed writes unchecked. One whose claim failed writes nothing before another one succeeds. A
	// caller who claims because of a lock elsewhere makes sure, after the claim and before the first write, that the lock
	// is still its own: whoever takes the lock later claims later too.
	Claim(ctx context.Context, holder string) (generation uint64, err error)
}
