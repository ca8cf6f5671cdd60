package ovsdb

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/pkg/ovsdb/memo"
)

// Schema describes the database of the connected server. The zero value has nothing.
type Schema struct {
	Version string // such as 7.0.0, that of OVN 23.03; "" before the first connection
	tables  map[string]ovsdb.TableSchema
}

// schemas caches parsed schemas for all clients, so that a reconnect does not parse again.
var schemas memo.Memo[Schema]

// ParseSchema reads a schema file, such as those of package schema, or the result of get_schema. Equal texts are parsed
// once.
func ParseSchema(text []byte) (Schema, error) { return schemas.Get(text, parseSchema) }

func parseSchema(text []byte) (Schema, error) {
	var s ovsdb.DatabaseSchema
	if err := json.Unmarshal(text, &s); err != nil {
		return Schema{}, fmt.Errorf("read schema: %w", err)
	}
	return Schema{Version: s.Version, tables: s.Tables}, nil
}

// Has reports whether there is such a table.
func (s Schema) Has(table string) bool {
	_, ok := s.tables[table]
	return ok
}

// HasColumn reports whether the table has such a column.
func (s Schema) HasColumn(table, column string) bool {
	_, ok := s.tables[table].Columns[column]
	return ok
}

// Enum reports whether the column is limited to a list of values and value is one of them.
func (s Schema) Enum(table, column, value string) bool {
	c, ok := s.tables[table].Columns[column]
	if !ok || c.TypeObj == nil || c.TypeObj.Key == nil {
		return false
	}
	return slices.Contains(c.TypeObj.Key.Enum, any(value))
}
