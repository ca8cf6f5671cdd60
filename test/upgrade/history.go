package upgrade

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
)

// Row is the columns of a row, as RFC 7047 spells them.
type Row map[string]json.RawMessage

// State is all rows of a database at one moment, by table and UUID. It must not be changed.
type State map[string]map[string]Row

// Rows returns what decides on packets.
func (s State) Rows(t testing.TB) nbtrace.Rows {
	t.Helper()
	text, err := json.Marshal(s.dump())
	require.NoError(t, err)
	rows, err := nbtrace.ReadDump(bytes.NewReader(text))
	require.NoError(t, err)
	return rows
}

// dump returns the rows by table, each with its UUID.
func (s State) dump() map[string][]Row {
	all := map[string][]Row{}
	for table, rows := range s {
		all[table] = []Row{}
		for _, uuid := range slices.Sorted(maps.Keys(rows)) {
			row := maps.Clone(rows[uuid])
			row["_uuid"] = reference(uuid)
			all[table] = append(all[table], row)
		}
	}
	return all
}

// reference is how RFC 7047 spells a UUID.
func reference(uuid string) json.RawMessage { return json.RawMessage(`["uuid","` + uuid + `"]`) }

// History is every committed state of a database since Watch, the one at that time first.
type History struct {
	raw    *ovsdbtest.Raw
	states []State
	err    error // of a notification
}

// Watch observes the transactions of a database, over a connection of its own, until the test ends.
func Watch(t testing.TB, endpoint string) *History {
	t.Helper()
	raw, err := ovsdbtest.DialRaw(t.Context(), endpoint, ovsdb.DefaultDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	h := &History{raw: raw, states: []State{{}}}
	raw.Notify = func(method string, params json.RawMessage) {
		var update []json.RawMessage
		if err := json.Unmarshal(params, &update); method == "update" && err == nil && len(update) == 2 && h.err == nil {
			h.err = h.add(update[1])
		}
	}
	answer, err := raw.Call("get_schema", ovsdb.DefaultDatabase)
	require.NoError(t, err)
	var schema struct {
		Tables map[string]json.RawMessage `json:"tables"`
	}
	require.NoError(t, json.Unmarshal(answer, &schema))
	tables := map[string]any{}
	for name := range schema.Tables {
		tables[name] = map[string]any{}
		h.states[0][name] = map[string]Row{}
	}
	initial, err := raw.Call("monitor", ovsdb.DefaultDatabase, "upgrade", tables)
	require.NoError(t, err)
	require.NoError(t, h.add(initial))
	h.states = h.states[1:]
	return h
}

// add appends the state after an update, which has all columns of the rows that it changes.
func (h *History) add(update json.RawMessage) error {
	var changed map[string]map[string]struct{ New Row }
	if err := json.Unmarshal(update, &changed); err != nil {
		return err
	}
	next := maps.Clone(h.states[len(h.states)-1])
	for table, rows := range changed {
		next[table] = maps.Clone(next[table])
		for uuid, row := range rows {
			if row.New == nil {
				delete(next[table], uuid)
			} else {
				next[table][uuid] = row.New
			}
		}
	}
	h.states = append(h.states, next)
	return nil
}

// Follow reads on until stop is called, which has to be before anything else: a server ends a connection that does not answer it for some
// seconds.
func (h *History) Follow() (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for h.err == nil {
			select {
			case <-over:
				return
			case <-time.After(time.Second): // pause: less than the server's probe interval
				if _, err := h.raw.Call("echo"); h.err == nil {
					h.err = err
				}
			}
		}
	}()
	return func() { close(over); <-done }
}

// Sync waits for the transactions that were committed before the call, and returns how many states there have been.
func (h *History) Sync(t testing.TB) int {
	t.Helper()
	_, err := h.raw.Call("echo")
	require.NoError(t, err)
	require.NoError(t, h.err)
	return len(h.states)
}

// Since returns the states from the n-th one on, counted from 1: with the result of Sync, the state at that time comes first.
func (h *History) Since(t testing.TB, n int) []State {
	t.Helper()
	return slices.Clone(h.states[n-1 : h.Sync(t)])
}

// Last returns the newest state.
func (h *History) Last(t testing.TB) State {
	t.Helper()
	return h.states[h.Sync(t)-1]
}
