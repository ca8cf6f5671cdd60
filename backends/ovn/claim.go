package ovn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// KeyClaim followed by an owner is the key in NB_Global.external_ids of the owner's newest claim.
const KeyClaim = "netloom-claim:"

const tableGlobal = "NB_Global"

// claimAttempts is how often Claim retries if others claim at the same time. One of them wins each time.
const claimAttempts = 20

var (
	// errReclaimed is the error of a transaction in a database without our claim. The claim has been written again.
	errReclaimed = errors.New("our claim was missing from the database and was written again")
	errUnclaimed = errors.New("the database is not claimed: the last attempt failed")
)

// fence stops a backend from writing once another instance has claimed the database. Without a claim it does not stop anything.
type fence struct {
	client *ovsdb.Client
	owner  string
	log    logrus.FieldLogger

	key     string // in NB_Global.external_ids
	newest  record // the newest claim that was ours, if any
	deposed error  // why nothing may be written before the next claim
	// guard is what each transaction begins with: a check that the claim is in the database, if there is one, and a
	// comment with its holder.
	guard []libovsdb.Operation
}

func newFence(client *ovsdb.Client, owner string, log logrus.FieldLogger) fence {
	return fence{client: client, owner: owner, log: log, key: KeyClaim + owner, guard: []libovsdb.Operation{comment(owner)}}
}

// claim makes the next claim, and returns its number.
func (f *fence) claim(ctx context.Context, holder string) (uint64, error) {
	f.deposed = errUnclaimed
	for range claimAttempts {
		found, err := f.read(ctx)
		if err != nil {
			return 0, fmt.Errorf("claim the database: %w", err)
		}
		next := record{generation: max(found.generation, f.newest.generation) + 1, holder: holderText(holder)}
		if next.generation > maxGeneration {
			next.generation = 1
		}
		err = f.write(ctx, found, next, "claims")
		if err == nil {
			f.newest, f.deposed = next, nil
			f.guard = []libovsdb.Operation{f.require(next), comment(f.owner + " " + next.holder + " claim " + next.number())}
			return next.generation, nil
		}
		if !lostRace(err) {
			return 0, fmt.Errorf("claim the database: %w", err)
		}
	}
	return 0, fmt.Errorf("claim the database: others were faster %d times", claimAttempts)
}

// recorded is the record of an owner's claims as it was read.
type recorded struct {
	record
	row   string // of NB_Global, "" if there is none
	value string // as it is written there
	known bool   // there is one
}

func (f *fence) read(ctx context.Context) (recorded, error) {
	rows, err := f.client.Select(ctx, tableGlobal, nil, nb.ColumnExternalIDs)
	if errors.Is(err, ovsdb.ErrNotConnected) {
		err = fmt.Errorf("%w: %w", backends.ErrUnreachable, err)
	}
	if err != nil || len(rows) == 0 {
		return recorded{}, err
	}
	found := recorded{row: ovsdb.String(rows[0]["_uuid"])}
	found.value, found.known = ovsdb.StringMap(rows[0][nb.ColumnExternalIDs])[f.key]
	if !found.known {
		return found, nil
	}
	var ok bool
	if found.record, ok = parseRecord(found.value); !ok {
		f.log.WithFields(logrus.Fields{"key": f.key, "value": shortened(found.value)}).
			Warn("the claim in the database cannot be read; any other claim replaces it")
	}
	return found, nil
}

// write replaces the record found by the next one. It fails with an error for which lostRace is true if another instance has written one by
// then.
func (f *fence) write(ctx context.Context, found recorded, next record, verb string) error {
	value := libovsdb.Row{nb.ColumnExternalIDs: ovsdb.Map(map[string]string{f.key: next.String()})}
	ops := []libovsdb.Operation{comment(f.owner + " " + next.holder + " " + verb + " " + next.number())}
	if found.row == "" { // the table can have at most one row
		ops = append(ops, libovsdb.Operation{Op: libovsdb.OperationInsert, Table: tableGlobal, Row: value})
	} else {
		// The record found is removed only if it is still there, and the new one does not overwrite another.
		change := libovsdb.Operation{Op: libovsdb.OperationMutate, Table: tableGlobal, Where: ovsdb.ByUUID(found.row)}
		if found.known {
			change.Mutations = append(change.Mutations, libovsdb.Mutation{
				Column: nb.ColumnExternalIDs, Mutator: libovsdb.MutateOperationDelete,
				Value: ovsdb.Map(map[string]string{f.key: found.value}),
			})
		}
		change.Mutations = append(change.Mutations, libovsdb.Mutation{
			Column: nb.ColumnExternalIDs, Mutator: libovsdb.MutateOperationInsert, Value: value[nb.ColumnExternalIDs],
		})
		ops = append(ops, change)
	}
	durable := true
	ops = append(ops, f.require(next), libovsdb.Operation{Op: libovsdb.OperationCommit, Durable: &durable})
	_, err := f.client.Transact(ctx, ops)
	return err
}

// lostRace reports whether a claim failed because another instance was faster.
func lostRace(err error) bool { return claimMissing(err) || ovsdb.IsConstraint(err) }

// claimMissing reports whether a transaction was rejected because a claim is not in the database.
func claimMissing(err error) bool {
	var refused *ovsdb.OperationError
	return errors.As(err, &refused) && refused.Verb == libovsdb.OperationWait
}

// require returns the operation that fails, at once, if a claim is not in the database.
func (f *fence) require(claim record) libovsdb.Operation {
	now := 0
	return libovsdb.Operation{
		Op: libovsdb.OperationWait, Table: tableGlobal, Timeout: &now,
		Where:   ovsdb.WithExternalID(map[string]string{f.key: claim.String()}),
		Columns: []string{"_uuid"}, Until: string(libovsdb.WaitConditionNotEqual), Rows: []libovsdb.Row{},
	}
}

// comment returns the operation that writes a line into the database's log.
func comment(text string) libovsdb.Operation {
	text = "netloom " + text
	return libovsdb.Operation{Op: libovsdb.OperationComment, Comment: &text}
}

// transact executes operations, if the claim is still in the database.
func (f *fence) transact(ctx context.Context, ops []libovsdb.Operation) ([]libovsdb.OperationResult, error) {
	if f.deposed != nil {
		return nil, f.deposed
	}
	guard := f.guard
	results, err := f.client.Transact(ctx, slices.Concat(guard, ops))
	if err != nil {
		return nil, f.refused(ctx, behind(len(guard), err))
	}
	return results[len(guard):], nil
}

// behind makes a rejection number operations as the plan does, which does not know those before.
func behind(before int, err error) error {
	var refused *ovsdb.OperationError
	if errors.As(err, &refused) && refused.Index >= before {
		refused.Index -= before
	}
	return err
}

// refused explains why a transaction was rejected: if our claim is not in the database, there is a later one, or an
// older state of the database was restored, and then our claim is written again.
func (f *fence) refused(ctx context.Context, err error) error {
	if !claimMissing(err) {
		return err
	}
	found, err := f.read(ctx)
	if err != nil {
		return fmt.Errorf("our claim is not in the database: %w", err)
	}
	if found.after(f.newest) {
		f.deposed = fmt.Errorf("%w: claim %s of %s came after claim %s of %s",
			backends.ErrDeposed, found.number(), found.holder, f.newest.number(), f.newest.holder)
		return f.deposed
	}
	if found.record != f.newest {
		if err := f.write(ctx, found, f.newest, "claims again"); err != nil {
			return fmt.Errorf("claim the database again: %w", err)
		}
		f.log.WithFields(logrus.Fields{"generation": f.newest.generation, "found": shortened(found.value)}).
			Warn("the database was restored to a state without our claim, which was written again")
	}
	return errReclaimed
}
