package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

var (
	// ErrNotConnected means that there is no connection, so nothing was sent.
	ErrNotConnected = errors.New("not connected to an OVSDB server")
	// ErrUnknownOutcome means that a transaction was sent, and the connection or ctx ended before its answer: it may have
	// been committed. Read back before writing again.
	ErrUnknownOutcome = errors.New("outcome of the transaction unknown")
)

// The names of errors in RFC 7047 and ovsdb-server(7).
const (
	kindDuplicate   = "duplicate uuid"
	kindConstraint  = "constraint violation"
	kindReferential = "referential integrity violation"
	kindCanceled    = "canceled"
)

// OperationError is a server's refusal of a transaction. Nothing of the transaction was committed.
type OperationError struct {
	Index   int    // of the operation that failed; -1 if all succeeded but the commit failed
	Verb    string // of that operation, such as insert; "" for the commit
	Table   string
	Row     string // uuid of the row that the operation names; "" for none
	Kind    string // such as "constraint violation"
	Details string
}

// Error names the operation that failed and the cause.
func (e *OperationError) Error() string {
	var b strings.Builder
	if e.Index < 0 {
		b.WriteString("commit")
	} else {
		fmt.Fprintf(&b, "operation %d: %s %s", e.Index, e.Verb, e.Table)
		if e.Row != "" {
			b.WriteString(" row " + e.Row)
		}
	}
	b.WriteString(": " + e.Kind)
	if e.Details != "" {
		b.WriteString(": " + e.Details)
	}
	return b.String()
}

// IsDuplicate reports whether a row could not be written because a row of the same uuid, or of the same name in a table
// with unique names, already exists.
func IsDuplicate(err error) bool {
	var e *OperationError
	if !errors.As(err, &e) {
		return false
	}
	return e.Kind == kindDuplicate || e.Kind == kindConstraint && strings.Contains(e.Details, "identical values")
}

// IsConstraint reports whether a value was refused by the schema: not in an enum, out of range, too long, too many, or
// not unique.
func IsConstraint(err error) bool { return isKind(err, kindConstraint) }

// IsReferential reports whether a row was refused because it references a row that does not exist, or was to be deleted
// while another row references it.
func IsReferential(err error) bool { return isKind(err, kindReferential) }

func isKind(err error, kind string) bool {
	var e *OperationError
	return errors.As(err, &e) && e.Kind == kind
}

// rpcError is a server's refusal of a whole request.
type rpcError struct {
	Method  string
	Kind    string
	Details string
}

func (e *rpcError) Error() string {
	if e.Details == "" {
		return e.Method + ": " + e.Kind
	}
	return e.Method + ": " + e.Kind + ": " + e.Details
}

// parseRPCError reads the error member of a reply: an object with error and details, or a string.
func parseRPCError(method string, raw json.RawMessage) error {
	var object struct {
		Error   string `json:"error"`
		Details string `json:"details"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Error != "" {
		return &rpcError{Method: method, Kind: object.Error, Details: object.Details}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &rpcError{Method: method, Kind: text}
	}
	return &rpcError{Method: method, Kind: string(raw)}
}

// checkResults turns the first failed result into an error that names its operation.
func checkResults(results []ovsdb.OperationResult, ops []ovsdb.Operation) error {
	for i, r := range results {
		if r.Error == "" {
			continue
		}
		e := &OperationError{Index: -1, Kind: r.Error, Details: r.Details}
		if i < len(ops) {
			e.Index, e.Verb, e.Table, e.Row = i, ops[i].Op, ops[i].Table, rowOf(&ops[i])
		}
		return e
	}
	if len(results) < len(ops) {
		return fmt.Errorf("transact: %d results for %d operations", len(results), len(ops))
	}
	return nil
}

// rowOf is the uuid of the row that op names, "" if it names none or several.
func rowOf(op *ovsdb.Operation) string {
	if op.Op == ovsdb.OperationInsert {
		return op.UUID
	}
	for _, c := range op.Where {
		if id, ok := c.Value.(ovsdb.UUID); ok && c.Column == "_uuid" && c.Function == ovsdb.ConditionEqual {
			return id.GoUUID
		}
	}
	return ""
}
