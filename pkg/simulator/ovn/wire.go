package ovn

import (
	"encoding/json"
	"strconv"
)

// appendDatum encodes d as JSON. A set of exactly one element is encoded as that element, as a real server does.
func appendDatum(b []byte, d datum, t *columnType) []byte {
	if t.value == nil && len(d.keys) == 1 {
		return appendAtom(b, d.keys[0])
	}
	if t.value == nil {
		b = append(b, `["set",[`...)
	} else {
		b = append(b, `["map",[`...)
	}
	for i, key := range d.keys {
		if i > 0 {
			b = append(b, ',')
		}
		if t.value == nil {
			b = appendAtom(b, key)
			continue
		}
		b = append(appendAtom(append(b, '['), key), ',')
		b = append(appendAtom(b, d.vals[i]), ']')
	}
	return append(b, "]]"...)
}

func appendAtom(b []byte, atom any) []byte {
	switch x := atom.(type) {
	case rowID:
		return append(append(append(b, `["uuid","`...), x...), `"]`...)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case bool:
		return strconv.AppendBool(b, x)
	default: // a string or a finite number: both can be marshaled
		text, err := json.Marshal(x)
		if err != nil {
			text = []byte("0")
		}
		return append(b, text...)
	}
}

// appendCells encodes the given columns of r as the object of a row.
func appendCells(b []byte, r *row, columns []*column, extra ...string) []byte {
	b = append(b, '{')
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), c.name...), `":`...)
		b = appendDatum(b, r.cells[c.at], &c.typ)
	}
	for i, name := range extra {
		if i > 0 || len(columns) > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), `":`...)
		if name == "_uuid" {
			b = appendAtom(b, r.id)
		} else {
			b = appendAtom(b, r.version)
		}
	}
	return append(b, '}')
}
