package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
)

var (
	// errReclaimed is the error of a write that came to a target without the backend's claim, which has it again now.
	errReclaimed = errors.New("the target had lost the claim and has it again")
	errUnclaimed = errors.New("the target is not claimed: the last attempt failed")
)

// Claim is the record that a target keeps of who claimed the rows of an owner last. The zero value is that of nobody.
type Claim struct {
	Generation uint64
	Holder     string
}

// after says whether c was made after o. Two of one number can only be where the record was set back in between, and then
// the one that is there stands.
func (c Claim) after(o Claim) bool {
	return c.Generation > o.Generation || c.Generation == o.Generation && c.Holder != o.Holder
}

// Claim implements backends.Claimer.
func (b *Backend) Claim(ctx context.Context, holder string) (uint64, error) {
	b.deposed = errUnclaimed
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	t := b.target
	t.mu.Lock()
	defer t.mu.Unlock()
	b.claim = Claim{Generation: max(t.claims[b.owner].Generation, b.claim.Generation) + 1, Holder: holder}
	b.deposed = nil
	t.claims[b.owner] = b.claim
	b.applied = nil // others may have written
	return b.claim.Generation, nil
}

// allowed says why b must not write, nil where it may. The target's lock is held.
func (b *Backend) allowed() error {
	at := b.target.claims[b.owner]
	switch {
	case b.deposed != nil:
		return b.deposed
	case b.claim == Claim{} || b.claim == at:
		return nil
	case at.after(b.claim):
		b.deposed = fmt.Errorf("%w: claim %d of %s came after claim %d of %s",
			backends.ErrDeposed, at.Generation, at.Holder, b.claim.Generation, b.claim.Holder)
		return b.deposed
	default:
		b.target.claims[b.owner] = b.claim
		return errReclaimed
	}
}

// ClaimOf is the record of the last claim on the rows of an owner.
func (t *Target) ClaimOf(owner string) Claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.claims[owner]
}

// SetClaim sets that record behind every backend's back, as a backup that is restored does.
func (t *Target) SetClaim(owner string, c Claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claims[owner] = c
}
