package ovn

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/netloom/netloom/pkg/ovsdb/memo"
)

// schemaFile is a schema in the format of RFC 7047.
type schemaFile struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Tables  map[string]struct {
		Columns map[string]struct {
			Type    columnType `json:"type"`
			Mutable *bool      `json:"mutable"`
		} `json:"columns"`
		Indexes [][]string `json:"indexes"`
		IsRoot  bool       `json:"isRoot"`
		MaxRows *int       `json:"maxRows"`
	} `json:"tables"`
}

// columnType is the type of a column: between min and max atoms of key, or pairs of key and value.
type columnType struct {
	key   baseType
	value *baseType
	min   int
	max   int
}

// baseType is an atomic type and its limits.
type baseType struct {
	Kind       string          `json:"type"`
	Enum       json.RawMessage `json:"enum"`
	MinInteger *int64          `json:"minInteger"`
	MaxInteger *int64          `json:"maxInteger"`
	MinReal    *float64        `json:"minReal"`
	MaxReal    *float64        `json:"maxReal"`
	MinLength  *int            `json:"minLength"`
	MaxLength  *int            `json:"maxLength"`
	RefTable   string          `json:"refTable"`
	RefType    string          `json:"refType"`

	enum datum
}

func (b *baseType) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &b.Kind)
	}
	type plain baseType
	if err := json.Unmarshal(raw, (*plain)(b)); err != nil {
		return err
	}
	if len(b.Enum) == 0 {
		return nil
	}
	value, err := decodeWire(b.Enum)
	if err != nil {
		return err
	}
	unlimited := columnType{key: baseType{Kind: b.Kind}, max: math.MaxInt}
	enum, fault := parseDatum(value, &unlimited, nil)
	if fault != nil {
		return fault
	}
	b.enum = enum
	return nil
}

func (t *columnType) UnmarshalJSON(raw []byte) error {
	t.min, t.max = 1, 1
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &t.key)
	}
	var file struct {
		Key   baseType  `json:"key"`
		Value *baseType `json:"value"`
		Min   *int      `json:"min"`
		Max   any       `json:"max"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return err
	}
	t.key, t.value = file.Key, file.Value
	if file.Min != nil {
		t.min = *file.Min
	}
	switch limit := file.Max.(type) {
	case string:
		t.max = math.MaxInt
	case float64:
		t.max = int(limit)
	}
	return nil
}

// scalar reports whether there is always exactly one element.
func (t *columnType) scalar() bool { return t.min == 1 && t.max == 1 && t.value == nil }

// zero means the default value of a column.
func (t *columnType) zero() datum {
	if t.min == 0 {
		return datum{}
	}
	d := datum{keys: []any{t.key.zero()}}
	if t.value != nil {
		d.vals = []any{t.value.zero()}
	}
	return d
}

func (b *baseType) zero() any {
	switch b.Kind {
	case "integer":
		return int64(0)
	case "real":
		return float64(0)
	case "boolean":
		return false
	case "uuid":
		return rowID("00000000-0000-0000-0000-000000000000")
	default:
		return ""
	}
}

// table is one table of a schema.
type table struct {
	name    string
	columns []*column // ordered by name
	byName  map[string]*column
	indexes [][]*column
	root    bool
	maxRows int
}

type column struct {
	name    string
	at      int // in table.columns and row.cells
	typ     columnType
	mutable bool
	refKey  *table // what the keys refer to
	refVal  *table
}

// refs reports whether c has weak (or else strong) references.
func (c *column) refs(weak bool) bool {
	return c.refKey != nil && (c.typ.key.RefType == "weak") == weak ||
		c.refVal != nil && (c.typ.value.RefType == "weak") == weak
}

// parsedSchema is a parsed schema file. Databases share it: tables and columns hold no rows.
type parsedSchema struct {
	name, version string
	tables        map[string]*table
}

// parsedSchemas caches the schemas that servers were started with.
var parsedSchemas memo.Memo[parsedSchema]

// parseSchema reads a schema file.
func parseSchema(raw []byte) (parsedSchema, error) {
	var file schemaFile
	if err := json.Unmarshal(raw, &file); err != nil {
		return parsedSchema{}, fmt.Errorf("read schema: %w", err)
	}
	tables := make(map[string]*table, len(file.Tables))
	anyRoot := false
	for name, t := range file.Tables {
		anyRoot = anyRoot || t.IsRoot
		tables[name] = &table{name: name, byName: make(map[string]*column), root: t.IsRoot, maxRows: math.MaxInt}
		if t.MaxRows != nil {
			tables[name].maxRows = *t.MaxRows
		}
	}
	for name, from := range file.Tables {
		t := tables[name]
		t.root = t.root || !anyRoot
		for column := range from.Columns {
			t.byName[column] = nil
		}
		for _, name := range sortedKeys(t.byName) {
			c := &column{name: name, at: len(t.columns), typ: from.Columns[name].Type, mutable: true}
			if m := from.Columns[name].Mutable; m != nil {
				c.mutable = *m
			}
			c.refKey = tables[c.typ.key.RefTable]
			if c.typ.value != nil {
				c.refVal = tables[c.typ.value.RefTable]
			}
			t.columns = append(t.columns, c)
			t.byName[name] = c
		}
		for _, names := range from.Indexes {
			index := make([]*column, len(names))
			for i, n := range slices.Sorted(slices.Values(names)) {
				if index[i] = t.byName[n]; index[i] == nil {
					return parsedSchema{}, fmt.Errorf("read schema: table %s: index over unknown column %q", name, n)
				}
			}
			t.indexes = append(t.indexes, index)
		}
	}
	return parsedSchema{name: file.Name, version: file.Version, tables: tables}, nil
}
