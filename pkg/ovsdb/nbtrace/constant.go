package nbtrace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// constantFor reads a constant as one of f.
func constantFor(f *field, t token) (value, error) {
	wrong := &SyntaxError{t.at, fmt.Sprintf("%s does not fit field %s", t, f.name)}
	switch {
	case t.kind == tokenString && f.typ == fieldPort:
		return value{kind: valueText, text: t.text}, nil
	case t.kind == tokenGroup && f.typ == fieldPort:
		return value{kind: valueGroup, group: t.text}, nil
	case t.kind == tokenSet && (f.typ == fieldIPv4 || f.typ == fieldIPv6):
		return value{kind: valueSet, set: t.text}, nil
	case t.kind == tokenNumber && f.typ == fieldNumber:
		v := value{kind: valueNumber, mask: wholeNumber}
		number, mask, masked := strings.Cut(t.text, "/")
		var ok bool
		if v.number, ok = parseNumber(number, f.limit); !ok {
			return value{}, wrong
		}
		if masked {
			if v.mask, ok = parseNumber(mask, f.limit); !ok || v.number&^v.mask != 0 || f.cuts && !isRange(v.mask) {
				return value{}, wrong
			}
		}
		return v, nil
	case t.kind == tokenNumber && (f.typ == fieldIPv4 || f.typ == fieldIPv6):
		prefix, ok := parsePrefix(t.text)
		if !ok || prefix.Addr().Is4() != (f.typ == fieldIPv4) {
			return value{}, wrong
		}
		return value{kind: valuePrefix, prefix: prefix}, nil
	default:
		return value{}, wrong
	}
}

// isRange reports whether the numbers that share the bits of a mask, of 16 bits, are neighbors.
func isRange(mask uint64) bool {
	rest := 0xffff &^ mask
	return rest&(rest+1) == 0
}

// parseNumber reads an integer of at most limit, decimal or hexadecimal.
func parseNumber(s string, limit uint64) (uint64, bool) {
	n, err := strconv.ParseUint(s, 0, 64)
	plain := !strings.Contains(s, "_") && (len(s) <= 1 || s[0] != '0' || s[1] == 'x')
	return n, err == nil && n <= limit && plain
}

func relations() []string { return []string{"==", "!=", "<=", ">=", "<", ">"} }

func isRelation(t token) bool {
	return t.kind == tokenSymbol && slices.Contains(relations(), t.text)
}
