package ovn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// KeySettings followed by an owner is the key in NB_Global.external_ids of the settings that the owner's rows are written with: an object in
// JSON, by the keys of the settings.
const KeySettings = "netloom-settings:"

var _ backends.Recorder = (*Backend)(nil)

// Record implements backends.Recorder. An instance that is deposed cannot record.
func (b *Backend) Record(ctx context.Context, settings map[string]string) error {
	found, err := b.recorded(ctx)
	if err != nil {
		return err
	}
	want := ""
	if settings != nil {
		text, err := json.Marshal(settings) // sorted by key
		if err != nil {
			return fmt.Errorf("record the settings: %w", err)
		}
		want = string(text)
	}
	if found.value == want {
		return nil
	}
	if b.fence.deposed != nil {
		return b.fence.deposed
	}
	key := KeySettings + b.fence.owner
	ops := append([]libovsdb.Operation{}, b.fence.guard...)
	value := ovsdb.Map(map[string]string{key: want})
	if found.row == "" { // the table can have at most one row
		ops = append(ops, libovsdb.Operation{Op: libovsdb.OperationInsert, Table: tableGlobal, Row: libovsdb.Row{nb.ColumnExternalIDs: value}})
	} else {
		change := libovsdb.Operation{Op: libovsdb.OperationMutate, Table: tableGlobal, Where: ovsdb.ByUUID(found.row)}
		if found.known {
			change.Mutations = append(change.Mutations, libovsdb.Mutation{
				Column: nb.ColumnExternalIDs, Mutator: libovsdb.MutateOperationDelete, Value: ovsdb.Map(map[string]string{key: found.value}),
			})
		}
		if want != "" {
			change.Mutations = append(change.Mutations, libovsdb.Mutation{
				Column: nb.ColumnExternalIDs, Mutator: libovsdb.MutateOperationInsert, Value: value,
			})
		}
		ops = append(ops, change)
	}
	if _, err := b.client.Transact(ctx, ops); err != nil {
		return fmt.Errorf("record the settings: %w", err)
	}
	return nil
}

// Recorded implements backends.Recorder.
func (b *Backend) Recorded(ctx context.Context) (map[string]string, error) {
	found, err := b.recorded(ctx)
	if err != nil || !found.known {
		return nil, err
	}
	var out map[string]string
	if err := json.Unmarshal([]byte(found.value), &out); err != nil {
		return nil, fmt.Errorf("NB_Global external_ids %s%s: expected settings in JSON: %w", KeySettings, b.fence.owner, err)
	}
	return out, nil
}

// recorded reads the settings as they are written in the database.
func (b *Backend) recorded(ctx context.Context) (recorded, error) {
	rows, err := b.client.Select(ctx, tableGlobal, nil, nb.ColumnExternalIDs)
	if errors.Is(err, ovsdb.ErrNotConnected) {
		err = fmt.Errorf("%w: %w", backends.ErrUnreachable, err)
	}
	if err != nil || len(rows) == 0 {
		return recorded{}, err
	}
	found := recorded{row: ovsdb.String(rows[0]["_uuid"])}
	found.value, found.known = ovsdb.StringMap(rows[0][nb.ColumnExternalIDs])[KeySettings+b.fence.owner]
	return found, nil
}
