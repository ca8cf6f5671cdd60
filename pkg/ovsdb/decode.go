package ovsdb

import (
	"encoding/json"
	"fmt"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// wireResult is one element of a transact reply. Operations after the one that failed have null.
type wireResult struct {
	Count   int              `json:"count"`
	Error   string           `json:"error"`
	Details string           `json:"details"`
	UUID    []string         `json:"uuid"`
	Rows    []map[string]any `json:"rows"`
}

// parseResults reads the result of a transact request.
func parseResults(raw json.RawMessage) ([]ovsdb.OperationResult, error) {
	var wire []wireResult
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("transact: read results: %w", err)
	}
	results := make([]ovsdb.OperationResult, len(wire))
	for i, w := range wire {
		r := ovsdb.OperationResult{Count: w.Count, Error: w.Error, Details: w.Details}
		if len(w.UUID) == 2 {
			r.UUID.GoUUID = w.UUID[1]
		}
		if w.Rows != nil {
			r.Rows = make([]ovsdb.Row, len(w.Rows))
		}
		for j, row := range w.Rows {
			r.Rows[j] = RowFromWire(row)
		}
		results[i] = r
	}
	return results, nil
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
