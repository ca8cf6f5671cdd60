package ovsdb

import (
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Insert is the operation that adds a row under a uuid of the caller's choice. It is refused if the uuid is taken, even
// by a row deleted in the same transaction.
func Insert(table, uuid string, row ovsdb.Row) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationInsert, Table: table, UUID: uuid, Row: row}
}

// Update is the operation that sets the columns in row; others stay. If the row does not exist, the result counts zero.
func Update(table, uuid string, row ovsdb.Row) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationUpdate, Table: table, Where: ByUUID(uuid), Row: row}
}

// Delete is the operation that removes a row. If the row does not exist, the result counts zero.
func Delete(table, uuid string) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationDelete, Table: table, Where: ByUUID(uuid)}
}

// MutateSet is the operation that removes remove from a set and adds put to it, and sends nothing else. Elements are
// strings, or ovsdb.UUID for a column of references.
func MutateSet[E string | ovsdb.UUID](table, uuid, column string, add, remove []E) ovsdb.Operation {
	op := ovsdb.Operation{Op: ovsdb.OperationMutate, Table: table, Where: ByUUID(uuid)}
	if len(remove) > 0 {
		op.Mutations = append(op.Mutations, ovsdb.Mutation{
			Column: column, Mutator: ovsdb.MutateOperationDelete, Value: Set(remove),
		})
	}
	if len(add) > 0 {
		op.Mutations = append(op.Mutations, ovsdb.Mutation{
			Column: column, Mutator: ovsdb.MutateOperationInsert, Value: Set(add),
		})
	}
	return op
}

// MutateMap is the operation that removes the keys of remove from a map and sets those of put, whatever value they had.
// Other keys stay.
func MutateMap(table, uuid, column string, put map[string]string, remove []string) ovsdb.Operation {
	op := ovsdb.Operation{Op: ovsdb.OperationMutate, Table: table, Where: ByUUID(uuid)}
	gone := slices.Concat(remove, slices.Collect(maps.Keys(put))) // an insertion does not change an existing key
	slices.Sort(gone)
	if gone = slices.Compact(gone); len(gone) > 0 {
		op.Mutations = append(op.Mutations, ovsdb.Mutation{
			Column: column, Mutator: ovsdb.MutateOperationDelete, Value: Set(gone),
		})
	}
	if len(put) > 0 {
		op.Mutations = append(op.Mutations, ovsdb.Mutation{
			Column: column, Mutator: ovsdb.MutateOperationInsert, Value: Map(put),
		})
	}
	return op
}

// ByUUID is the condition that finds one row without a scan of its table, which every other condition costs.
func ByUUID(uuid string) []ovsdb.Condition {
	return []ovsdb.Condition{{Column: "_uuid", Function: ovsdb.ConditionEqual, Value: ovsdb.UUID{GoUUID: uuid}}}
}

// WithExternalID is the condition that finds the rows whose external_ids hold all of ids.
func WithExternalID(ids map[string]string) []ovsdb.Condition {
	return []ovsdb.Condition{{Column: "external_ids", Function: ovsdb.ConditionIncludes, Value: Map(ids)}}
}
