package ovsdb

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// appendTransact appends the parameters of a transact request. Operations are encoded here and not by their own
// MarshalJSON because that omits members that RFC 7047 requires even if they are empty, such as the row of an insert, and
// marshals every value three times.
func appendTransact(b []byte, database string, ops []ovsdb.Operation) ([]byte, error) {
	var err error
	b = appendString(append(b, '['), database)
	for i := range ops {
		b = append(b, ',')
		if b, err = appendOp(b, &ops[i]); err != nil {
			return nil, fmt.Errorf("operation %d: %s %s: %w", i, ops[i].Op, ops[i].Table, err)
		}
	}
	return append(b, ']'), nil
}

func appendOp(b []byte, op *ovsdb.Operation) ([]byte, error) {
	var err error
	b = appendString(append(b, `{"op":`...), op.Op)
	if op.Table != "" {
		b = appendString(append(b, `,"table":`...), op.Table)
	}
	if op.UUID != "" {
		b = appendString(append(b, `,"uuid":`...), op.UUID)
	}
	if op.UUIDName != "" {
		b = appendString(append(b, `,"uuid-name":`...), op.UUIDName)
	}
	switch op.Op {
	case ovsdb.OperationInsert, ovsdb.OperationUpdate:
		b, err = appendRow(append(b, `,"row":`...), op.Row)
	case ovsdb.OperationMutate:
		b, err = appendMutations(append(b, `,"mutations":`...), op.Mutations)
	case ovsdb.OperationSelect, ovsdb.OperationDelete:
	default:
		return appendRareOp(b, op)
	}
	if err == nil && op.Op != ovsdb.OperationInsert {
		b, err = appendWhere(append(b, `,"where":`...), op.Where)
	}
	if op.Columns != nil {
		b = appendStrings(append(b, `,"columns":`...), op.Columns)
	}
	return append(b, '}'), err
}

// appendRareOp encodes the rest of an operation other than the five that touch rows.
func appendRareOp(b []byte, op *ovsdb.Operation) ([]byte, error) {
	var err error
	if op.Op == ovsdb.OperationWait {
		if b, err = appendWhere(append(b, `,"where":`...), op.Where); err != nil {
			return nil, err
		}
		b = appendStrings(append(b, `,"columns":`...), op.Columns)
		b = appendString(append(b, `,"until":`...), op.Until)
		b = append(b, `,"rows":[`...)
		for i, row := range op.Rows {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendRow(b, row); err != nil {
				return nil, err
			}
		}
		b = append(b, ']')
	}
	if op.Timeout != nil {
		b = strconv.AppendInt(append(b, `,"timeout":`...), int64(*op.Timeout), 10)
	}
	if op.Durable != nil {
		b = strconv.AppendBool(append(b, `,"durable":`...), *op.Durable)
	}
	if op.Comment != nil {
		b = appendString(append(b, `,"comment":`...), *op.Comment)
	}
	if op.Lock != nil {
		b = appendString(append(b, `,"lock":`...), *op.Lock)
	}
	return append(b, '}'), nil
}

func appendRow(b []byte, row ovsdb.Row) ([]byte, error) {
	var err error
	b = append(b, '{')
	first := true
	for column, value := range row {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, column), ':')
		if b, err = appendValue(b, value); err != nil {
			return nil, fmt.Errorf("column %s: %w", column, err)
		}
	}
	return append(b, '}'), nil
}

func appendWhere(b []byte, where []ovsdb.Condition) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, c := range where {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendTriple(b, c.Column, string(c.Function), c.Value); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendMutations(b []byte, mutations []ovsdb.Mutation) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, m := range mutations {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendTriple(b, m.Column, string(m.Mutator), m.Value); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendTriple(b []byte, column, function string, value any) ([]byte, error) {
	b = append(appendString(append(b, '['), column), ',')
	b, err := appendValue(append(appendString(b, function), ','), value)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", column, err)
	}
	return append(b, ']'), nil
}

func appendValue(b []byte, value any) ([]byte, error) {
	var err error
	switch v := value.(type) {
	case string:
		return appendString(b, v), nil
	case ovsdb.UUID:
		return appendUUID(b, v.GoUUID), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case ovsdb.OvsSet:
		b = append(b, `["set",[`...)
		for i, e := range v.GoSet {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, e); err != nil {
				return nil, err
			}
		}
		return append(b, "]]"...), nil
	case ovsdb.OvsMap:
		b = append(b, `["map",[`...)
		first := true
		for k, e := range v.GoMap {
			if !first {
				b = append(b, ',')
			}
			first = false
			if b, err = appendValue(append(b, '['), k); err != nil {
				return nil, err
			}
			if b, err = appendValue(append(b, ','), e); err != nil {
				return nil, err
			}
			b = append(b, ']')
		}
		return append(b, "]]"...), nil
	case []string:
		return appendValue(b, Set(v))
	case []ovsdb.UUID:
		return appendValue(b, Set(v))
	case map[string]string:
		return appendValue(b, Map(v))
	default:
		text, err := json.Marshal(value)
		return append(b, text...), err
	}
}

func appendUUID(b []byte, id string) []byte {
	if ovsdb.IsValidUUID(id) {
		return append(append(append(b, `["uuid","`...), id...), `"]`...)
	}
	return append(appendString(append(b, `["named-uuid",`...), id), ']')
}

func appendStrings(b []byte, all []string) []byte {
	b = append(b, '[')
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// appendString quotes s. Text that needs no escape, nearly all of it, is copied.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, err := json.Marshal(s)
			if err != nil { // no string can cause it
				text = []byte(`""`)
			}
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
