package ovn

import (
	"encoding/json"
	"math"
	"slices"
)

// condition is one clause of a where.
type condition struct {
	column   *column // nil for _uuid and _version
	name     string
	function string
	typ      *columnType
	value    datum
}

// conditions reads the clauses of a where.
func (x *txn) conditions(t *table, raw []json.RawMessage) ([]condition, *fault) {
	where := make([]condition, 0, len(raw))
	for _, text := range raw {
		column, function, value, f := triple(text)
		if f != nil {
			return nil, f
		}
		c := condition{column: t.byName[column], name: column, function: function}
		switch {
		case c.column != nil:
			c.typ = &c.column.typ
		case column == "_uuid" || column == "_version":
			c.typ = &columnType{key: baseType{Kind: "uuid"}, min: 1, max: 1}
		default:
			return nil, faultf(unknownColumn, "No column %s in table %s.", column, t.name)
		}
		if f := c.checkFunction(); f != nil {
			return nil, f
		}
		c.typ = c.operand()
		if c.value, f = parseDatum(value, c.typ, x.names); f != nil {
			return nil, f
		}
		where = append(where, c)
	}
	return where, nil
}

// triple reads a three-element array that begins with two strings.
func triple(raw json.RawMessage) (column, function string, value any, f *fault) {
	v, err := decodeWire(raw)
	if err != nil {
		return "", "", nil, faultf(syntaxError, "%v", err)
	}
	all, ok := v.([]any)
	if !ok || len(all) != 3 {
		return "", "", nil, faultf(syntaxError, "Parse error: expected a 3-element array")
	}
	column, ok = all[0].(string)
	function, ok2 := all[1].(string)
	if !ok || !ok2 {
		return "", "", nil, faultf(syntaxError, "Parse error: expected column and function as strings")
	}
	return column, function, all[2], nil
}

func (c *condition) checkFunction() *fault {
	switch c.function {
	case "==", "!=", "includes", "excludes":
		return nil
	case "<", "<=", ">", ">=":
		number := c.typ.key.Kind == "integer" || c.typ.key.Kind == "real"
		if number && c.typ.value == nil && c.typ.max == 1 {
			return nil
		}
		return faultf(syntaxError, "Type mismatch: %q operator may not be applied to column %s.", c.function, c.name)
	default:
		return faultf("unknown function", "No function named %s.", c.function)
	}
}

// operand is the type of the value that the column is compared with.
func (c *condition) operand() *columnType {
	typ := *c.typ
	switch c.function {
	case "<", "<=", ">", ">=":
		typ.min = 1
	case "includes", "excludes":
		if typ.scalar() {
			break
		}
		typ.min = 0
		if c.function == "excludes" {
			typ.max = math.MaxInt
		}
	}
	return &typ
}

// holds reports whether r meets c.
func (c *condition) holds(r *row) bool {
	var d datum
	switch {
	case c.column != nil:
		d = r.cells[c.column.at]
	case c.name == "_uuid":
		d = datum{keys: []any{r.id}}
	default:
		d = datum{keys: []any{r.version}}
	}
	switch c.function {
	case "==":
		return d.equal(c.value)
	case "!=":
		return !d.equal(c.value)
	case "includes":
		return !slices.ContainsFunc(c.elements(), func(i int) bool { return !c.in(d, i) })
	case "excludes":
		return !slices.ContainsFunc(c.elements(), func(i int) bool { return c.in(d, i) })
	}
	if len(d.keys) == 0 || len(c.value.keys) == 0 {
		return false
	}
	order := compareAtoms(d.keys[0], c.value.keys[0])
	switch c.function {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func (c *condition) elements() []int {
	all := make([]int, len(c.value.keys))
	for i := range all {
		all[i] = i
	}
	return all
}

// in reports whether the i-th element of the condition's value is in d: for a map, key and value.
func (c *condition) in(d datum, i int) bool {
	at, ok := d.find(c.value.keys[i])
	return ok && (c.value.vals == nil || d.vals[at] == c.value.vals[i])
}

// find returns the rows that meet every condition, in order of their uuids.
func (x *txn) find(t *table, where []condition) []*row {
	for _, c := range where {
		if c.column == nil && c.name == "_uuid" && c.function == "==" {
			r := x.get(rowKey{t, c.value.keys[0].(rowID)})
			if r == nil || !matches(r, where) {
				return nil
			}
			return []*row{r}
		}
	}
	var found []*row
	for id, r := range x.db.rows[t] {
		if _, changed := x.changes[rowKey{t, id}]; !changed && matches(r, where) {
			found = append(found, r)
		}
	}
	for _, ch := range x.order {
		if ch.key.table == t && ch.now != nil && matches(ch.now, where) {
			found = append(found, ch.now)
		}
	}
	slices.SortFunc(found, func(a, b *row) int { return compareAtoms(a.id, b.id) })
	return found
}

func matches(r *row, where []condition) bool {
	return !slices.ContainsFunc(where, func(c condition) bool { return !c.holds(r) })
}
