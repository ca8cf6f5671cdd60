package ovsdb

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// results decodes the result of a transact request while it arrives, row by row: a table may be large.
type results struct {
	each func(op int, row ovsdb.Row) // called for each row that one of ops operations read; nil keeps them in list
	ops  int
	list []ovsdb.OperationResult // complete once decode has returned

	mu        sync.Mutex
	abandoned bool
}

// abandon makes sure that each is not called any more.
func (r *results) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
}

// decode reads an array of results, one for each operation. Operations after the one that failed have null.
func (r *results) decode(d *json.Decoder) error {
	there, err := opens(d, '[')
	if !there || err != nil {
		return err
	}
	for d.More() {
		r.list = append(r.list, ovsdb.OperationResult{})
		if err := r.decodeResult(d, len(r.list)-1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func (r *results) decodeResult(d *json.Decoder, op int) error {
	there, err := opens(d, '{')
	if !there || err != nil {
		return err
	}
	result := &r.list[op]
	for d.More() {
		member, err := d.Token()
		if err != nil {
			return err
		}
		switch member {
		case "count":
			err = d.Decode(&result.Count)
		case "error":
			err = d.Decode(&result.Error)
		case "details":
			err = d.Decode(&result.Details)
		case "uuid":
			var pair []string
			if err = d.Decode(&pair); len(pair) == 2 {
				result.UUID.GoUUID = pair[1]
			}
		case "rows":
			err = r.decodeRows(d, op)
		default:
			err = d.Decode(&json.RawMessage{})
		}
		if err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func (r *results) decodeRows(d *json.Decoder, op int) error {
	there, err := opens(d, '[')
	if !there || err != nil {
		return err
	}
	if r.each == nil {
		r.list[op].Rows = []ovsdb.Row{}
	}
	for d.More() {
		var wire map[string]any
		if err := d.Decode(&wire); err != nil {
			return err
		}
		r.put(op, RowFromWire(wire))
	}
	_, err = d.Token()
	return err
}

func (r *results) put(op int, row ovsdb.Row) {
	if r.each == nil {
		r.list[op].Rows = append(r.list[op].Rows, row)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.abandoned && op < r.ops {
		r.each(op, row)
	}
}

// opens reads the beginning of an array or an object; false for null.
func opens(d *json.Decoder, delim json.Delim) (bool, error) {
	token, err := d.Token()
	switch {
	case err != nil:
		return false, err
	case token == nil:
		return false, nil
	case token != delim:
		return false, fmt.Errorf("expected %s, not %v", delim, token)
	default:
		return true, nil
	}
}

// RowFromWire reads a row as RFC 7047 writes it. It changes row.
func RowFromWire(row map[string]any) ovsdb.Row {
	for column, value := range row {
		row[column] = fromWire(value)
	}
	return row
}

// fromWire turns the arrays that encode references, sets and maps into ovsdb.UUID, OvsSet and OvsMap. Anything else stays
// as it is.
func fromWire(value any) any {
	pair, ok := value.([]any)
	if !ok || len(pair) != 2 {
		return value
	}
	switch tag, _ := pair[0].(string); tag {
	case "uuid", "named-uuid":
		id, _ := pair[1].(string)
		return ovsdb.UUID{GoUUID: id}
	case "set":
		elements, _ := pair[1].([]any)
		for i, e := range elements {
			elements[i] = fromWire(e)
		}
		return ovsdb.OvsSet{GoSet: elements}
	case "map":
		entries, _ := pair[1].([]any)
		m := make(map[any]any, len(entries))
		for _, entry := range entries {
			kv, ok := entry.([]any)
			if !ok || len(kv) != 2 {
				continue
			}
			if key := fromWire(kv[0]); isAtom(key) {
				m[key] = fromWire(kv[1])
			}
		}
		return ovsdb.OvsMap{GoMap: m}
	}
	return value
}

// isAtom reports whether v can be the key of a Go map.
func isAtom(v any) bool {
	switch v.(type) {
	case string, float64, bool, ovsdb.UUID:
		return true
	}
	return false
}
