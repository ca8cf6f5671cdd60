package ovn

import (
	"encoding/json"
	"math"
)

// mutation is one clause of a mutate.
type mutation struct {
	column  *column
	mutator string
	value   datum
	keys    bool // a delete from a map has keys only
}

func (x *txn) mutate(t *table, op *operation, where []condition) (json.RawMessage, *fault) {
	mutations := make([]mutation, 0, len(op.Mutations))
	for _, raw := range op.Mutations {
		m, f := x.mutation(t, raw)
		if f != nil {
			return nil, f
		}
		mutations = append(mutations, m)
	}
	found := x.find(t, where)
	for _, r := range found {
		next := x.edit(r)
		for i := range mutations {
			if f := mutations[i].run(next); f != nil {
				return nil, f
			}
		}
		x.set(rowKey{t, r.id}, next)
	}
	return counted(len(found)), nil
}

// mutation reads one clause.
func (x *txn) mutation(t *table, raw json.RawMessage) (mutation, *fault) {
	name, mutator, value, f := triple(raw)
	if f != nil {
		return mutation{}, f
	}
	m := mutation{column: t.byName[name], mutator: mutator}
	if m.column == nil {
		return m, faultf(unknownColumn, "No column %s in table %s.", name, t.name)
	}
	if !m.column.mutable {
		return m, faultf(constraintViolation, "Cannot mutate immutable column %s in table %s.", name, t.name)
	}
	typ := &m.column.typ
	mismatch := faultf(syntaxError, "Type mismatch: %q operator may not be applied to column %s.", mutator, name)
	switch mutator {
	case "insert", "delete":
		if typ.scalar() {
			return m, mismatch
		}
		operand := *typ
		operand.min = 0
		if mutator == "delete" {
			operand.max = math.MaxInt
		}
		m.value, f = parseDatum(value, &operand, x.names)
		if f != nil && mutator == "delete" && typ.value != nil {
			operand.value, m.keys = nil, true // a delete from a map may also list keys alone
			m.value, f = parseDatum(value, &operand, x.names)
		}
		return m, f
	case "+=", "-=", "*=", "/=", "%=":
		fits := typ.key.Kind == "integer" || typ.key.Kind == "real" && mutator != "%="
		if !fits || typ.value != nil {
			return m, mismatch
		}
		m.value, f = parseDatum(value, &columnType{key: baseType{Kind: typ.key.Kind}, min: 1, max: 1}, nil)
		return m, f
	default:
		return m, faultf("unknown mutator", "No mutator named %s.", mutator)
	}
}

// run applies m to a row that is being edited.
func (m *mutation) run(r *row) *fault {
	typ, cell := &m.column.typ, &r.cells[m.column.at]
	switch m.mutator {
	case "insert":
		*cell = cell.with(m.value)
	case "delete":
		was := *cell
		*cell = was.filter(func(i int) bool {
			at, hit := m.value.find(was.keys[i])
			return !hit || !m.keys && was.vals != nil && m.value.vals[at] != was.vals[i]
		})
	default:
		pairs := make([][2]any, len(cell.keys))
		for i, atom := range cell.keys {
			result, f := calculate(atom, m.mutator, m.value.keys[0])
			if f != nil {
				return f
			}
			if f := typ.key.check(result); f != nil {
				return f
			}
			pairs[i][0] = result
		}
		d, f := collect(pairs, typ)
		*cell = d
		return f
	}
	if f := cell.checkSize(typ); f != nil {
		return &fault{constraintViolation, f.details}
	}
	return nil
}

// calculate does arithmetic on two integers or two reals.
func calculate(a any, mutator string, b any) (any, *fault) {
	if x, ok := a.(float64); ok {
		y := b.(float64)
		switch mutator {
		case "+=":
			x += y
		case "-=":
			x -= y
		case "*=":
			x *= y
		default:
			if y == 0 {
				return nil, faultf("domain error", "Division by zero.")
			}
			x /= y
		}
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, faultf("range error", "Result of %q operation is out of range.", mutator)
		}
		return x, nil
	}
	x, y := a.(int64), b.(int64)
	switch {
	case mutator == "+=":
		if (y > 0 && x > math.MaxInt64-y) || (y < 0 && x < math.MinInt64-y) {
			break
		}
		return x + y, nil
	case mutator == "-=":
		if (y < 0 && x > math.MaxInt64+y) || (y > 0 && x < math.MinInt64+y) {
			break
		}
		return x - y, nil
	case mutator == "*=":
		if x != 0 && (x*y/x != y || x == -1 && y == math.MinInt64) {
			break
		}
		return x * y, nil
	case y == 0:
		return nil, faultf("domain error", "Division by zero.")
	case x == math.MinInt64 && y == -1:
		break
	case mutator == "/=":
		return x / y, nil
	default:
		return x % y, nil
	}
	return nil, faultf("range error", "Result of %q operation is out of range.", mutator)
}
