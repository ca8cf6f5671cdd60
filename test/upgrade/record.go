package upgrade

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
)

// Record is what a version wrote to a database with nothing but networks and ports.
type Record struct {
	Inserted map[string]map[string]Row `json:"inserted"`
	Updated  map[string]map[string]Row `json:"updated"` // the columns that changed of rows that were there
}

// NewRecord returns the difference between two states. It leaves out values that a server fills in by itself.
func NewRecord(before, after State) *Record {
	r := &Record{Inserted: map[string]map[string]Row{}, Updated: map[string]map[string]Row{}}
	put := func(to map[string]map[string]Row, table, uuid string, row Row) {
		if to[table] == nil {
			to[table] = map[string]Row{}
		}
		to[table][uuid] = row
	}
	for table, rows := range after {
		for uuid, row := range rows {
			was, there := before[table][uuid]
			changed := Row{}
			for column, value := range row {
				switch text := string(value); {
				case column == "_version", there && text == string(was[column]):
				case !there && slices.Contains([]string{`["set",[]]`, `["map",[]]`, `""`, "false", "0"}, text):
				default:
					changed[column] = value
				}
			}
			switch {
			case !there:
				put(r.Inserted, table, uuid, changed)
			case len(changed) > 0:
				put(r.Updated, table, uuid, changed)
			}
		}
	}
	return r
}

// Text is the record with a line for each row, in order.
func (r *Record) Text(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	for i, part := range []map[string]map[string]Row{r.Inserted, r.Updated} {
		b.WriteString([]string{"{\"inserted\": {", "\n}, \"updated\": {"}[i])
		for j, table := range slices.Sorted(maps.Keys(part)) {
			b.WriteString([]string{"\n", ",\n"}[min(j, 1)] + `"` + table + `": {`)
			for k, uuid := range slices.Sorted(maps.Keys(part[table])) {
				row, err := json.Marshal(part[table][uuid])
				require.NoError(t, err)
				b.WriteString([]string{"\n", ",\n"}[min(k, 1)] + ` "` + uuid + `": ` + strings.TrimSpace(string(row)))
			}
			b.WriteString("}")
		}
	}
	b.WriteString("\n}}\n")
	return b.Bytes()
}

// ReadRecord reads what Text has written.
func ReadRecord(t testing.TB, path string) *Record {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // a file of the test
	require.NoError(t, err)
	r := &Record{}
	require.NoError(t, json.Unmarshal(text, r))
	require.NotEmpty(t, r.Inserted["ACL"], path)
	return r
}

// Restore brings a database to the state that was recorded, in one transaction. It has to have the networks and ports of that time.
func (r *Record) Restore(t testing.TB, endpoint string) {
	t.Helper()
	raw, err := ovsdbtest.DialRaw(t.Context(), endpoint, ovsdb.DefaultDatabase)
	require.NoError(t, err)
	defer func() { _ = raw.Close() }()
	var ops []any
	for table, rows := range r.Inserted {
		for uuid, row := range rows {
			ops = append(ops, map[string]any{"op": "insert", "table": table, "uuid": uuid, "row": row})
		}
	}
	for table, rows := range r.Updated {
		for uuid, row := range rows {
			where := []any{[]any{"_uuid", "==", reference(uuid)}}
			ops = append(ops, map[string]any{"op": "update", "table": table, "where": where, "row": row})
		}
	}
	results, err := raw.Transact(ops...)
	require.NoError(t, err)
	for i, result := range results {
		if count, updates := result["count"]; updates {
			require.EqualValues(t, 1, count, "%v: no such row: networks or ports have other ids than when the rows were recorded", ops[i])
		}
	}
}
