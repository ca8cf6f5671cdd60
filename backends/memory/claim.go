package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
)

var (
	// errReclaimed is the error of a write to a target that had lost the backend's claim. The target has it again now.
	errReclaimed = errors.New("the target had lost the claim and has it again")
	errUnclaimed = errors.New("the target is not claimed: the last attempt failed")
)

// Claim is a target's record of who last claimed the rows of an owner. The zero value means no one has.
type Claim struct {
	Generation uint64
	Holder     string
}

// after reports whether c was made after o. Two claims can only have the same number if the record was restored in
// between; then the recorded one stands.
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

// allowed returns the reason why b must not write, nil if it may. The target's lock is held.
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

// ClaimOf returns the record of the last claim to the rows of an owner.
func (t *Target) ClaimOf(owner string) Claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.claims[owner]
}

// SetClaim sets that record behind every backend's back, as restoring a backup does.
func (t *Target) SetClaim(owner string, c Claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claims[owner] = c
}
