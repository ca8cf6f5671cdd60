package ovsdbtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Raw is a minimal client that can write: one connection, one request at a time, JSON in and out. It watches nothing,
// follows no leader and never reconnects. It is the baseline for other clients.
type Raw struct {
	// Notify, if set, is called with the notifications that arrive while a call waits for its answer.
	Notify func(method string, params json.RawMessage)

	nc       net.Conn
	encoder  *json.Encoder
	decoder  *json.Decoder
	database string
	next     int
}

// DialRaw connects to an endpoint, unix:PATH or tcp:HOST:PORT.
func DialRaw(ctx context.Context, endpoint, database string) (*Raw, error) {
	network, address, _ := strings.Cut(endpoint, ":")
	nc, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &Raw{nc: nc, encoder: json.NewEncoder(nc), decoder: json.NewDecoder(nc), database: database}, nil
}

// Close ends the connection.
func (r *Raw) Close() error { return r.nc.Close() }

// Call sends one request and waits for its answer. Notifications that come before it go to Notify.
func (r *Raw) Call(method string, params ...any) (json.RawMessage, error) {
	r.next++
	if params == nil {
		params = []any{}
	}
	err := r.encoder.Encode(map[string]any{"method": method, "params": params, "id": r.next})
	if err != nil {
		return nil, err
	}
	for {
		var m struct {
			ID     any             `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  any             `json:"error"`
		}
		if err := r.decoder.Decode(&m); err != nil {
			return nil, err
		}
		switch {
		case m.Method == "echo":
			if err := r.encoder.Encode(map[string]any{"id": m.ID, "result": m.Params, "error": nil}); err != nil {
				return nil, err
			}
		case m.Method != "":
			if r.Notify != nil {
				r.Notify(m.Method, m.Params)
			}
		case m.Error != nil:
			return nil, fmt.Errorf("%s: %v", method, m.Error)
		default:
			return m.Result, nil
		}
	}
}

// Transact runs operations, each a map or an ovsdb.Operation, as one transaction.
func (r *Raw) Transact(ops ...any) ([]map[string]any, error) {
	raw, err := r.Call("transact", append([]any{r.database}, ops...)...)
	if err != nil {
		return nil, err
	}
	var results []map[string]any
	if err := json.Unmarshal(raw, &results); err != nil {
		return nil, err
	}
	for i, result := range results {
		if result["error"] != nil {
			return results, fmt.Errorf("operation %d: %v: %v", i, result["error"], result["details"])
		}
	}
	return results, nil
}

// Select reads the rows of a table, as JSON spells them.
func (r *Raw) Select(table string, where []ovsdb.Condition, columns ...string) ([]map[string]any, error) {
	raw, err := r.Call("transact", r.database,
		ovsdb.Operation{Op: ovsdb.OperationSelect, Table: table, Where: where, Columns: columns})
	if err != nil {
		return nil, err
	}
	var results []struct {
		Rows  []map[string]any `json:"rows"`
		Error string           `json:"error"`
	}
	if err := json.Unmarshal(raw, &results); err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.New("select: no result")
	}
	if results[0].Error != "" {
		return nil, errors.New("select: " + results[0].Error)
	}
	return results[0].Rows, nil
}
