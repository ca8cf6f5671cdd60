package ovn

import (
	"encoding/json"
	"slices"
)

// wait compares at once and never blocks.
func (x *txn) wait(t *table, op *operation, where []condition) (json.RawMessage, *fault) {
	for i, name := range op.Columns {
		if t.byName[name] == nil && name != "_uuid" && name != "_version" {
			return nil, faultf(syntaxError, "%s is not a valid column name", name)
		}
		if slices.Contains(op.Columns[:i], name) {
			return nil, faultf(syntaxError, "%s appears more than once", name)
		}
	}
	if op.Until != "==" && op.Until != "!=" {
		return nil, faultf(syntaxError, "\"until\" must be \"==\" or \"!=\"")
	}
	var want, have []string
	for _, cells := range op.Rows {
		r, f := x.expected(t, cells)
		if f != nil {
			return nil, f
		}
		want = append(want, formatColumns(t, r, op.Columns))
	}
	for _, r := range x.find(t, where) {
		have = append(have, formatColumns(t, r, op.Columns))
	}
	slices.Sort(want)
	slices.Sort(have)
	if slices.Equal(slices.Compact(want), slices.Compact(have)) != (op.Until == "==") {
		return nil, &fault{kind: "timed out", details: "\"where\" clause test failed"}
	}
	return json.RawMessage("{}"), nil
}

// expected is a row that a wait compares with.
func (x *txn) expected(t *table, cells map[string]json.RawMessage) (*row, *fault) {
	r := &row{cells: make([]datum, len(t.columns))}
	for _, c := range t.columns {
		r.cells[c.at] = c.typ.zero()
	}
	given := make(map[string]json.RawMessage, len(cells))
	for name, value := range cells {
		if name != "_uuid" && name != "_version" {
			given[name] = value
			continue
		}
		v, err := decodeWire(value)
		if err != nil {
			return nil, faultf(syntaxError, "%v", err)
		}
		d, f := parseDatum(v, &columnType{key: baseType{Kind: "uuid"}, min: 1, max: 1}, x.names)
		if f != nil {
			return nil, f
		}
		if id, ok := d.keys[0].(rowID); ok && name == "_uuid" {
			r.id = id
		}
	}
	return r, x.fill(t, r, given, false)
}

// formatColumns formats some columns of a row.
func formatColumns(t *table, r *row, columns []string) string {
	var b []byte
	for _, name := range columns {
		switch c := t.byName[name]; {
		case c != nil:
			b = appendDatum(b, r.cells[c.at], &c.typ)
		case name == "_uuid":
			b = append(b, r.id...)
		default:
			b = append(b, r.version...)
		}
		b = append(b, ',')
	}
	return string(b)
}
