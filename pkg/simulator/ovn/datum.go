package ovn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rowID is an atom that names a row.
type rowID string

// fault is an error as a server reports it.
type fault struct {
	kind    string
	details string
}

func (f *fault) Error() string { return f.kind + ": " + f.details }

func faultf(kind, format string, args ...any) *fault {
	return &fault{kind, fmt.Sprintf(format, args...)}
}

// The kinds of errors, as RFC 7047 spells them.
const (
	syntaxError         = "syntax error"
	constraintViolation = "constraint violation"
	referentialError    = "referential integrity violation"
	duplicateUUID       = "duplicate uuid"
	unknownColumn       = "unknown column"
	otherError          = "ovsdb error"
)

// datum is the value of a column: atoms in order without duplicates, each with a value if the column is a map. Atoms are
// string, int64, float64, bool or uuid. A datum is never changed; operations make new ones.
type datum struct {
	keys []any
	vals []any
}

// symbols are the names that a transaction gives to rows.
type symbols struct {
	ids  map[string]rowID
	next func() rowID
}

// compareAtoms orders atoms of one type.
func compareAtoms(a, b any) int {
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case rowID:
		return strings.Compare(string(x), string(b.(rowID)))
	case int64:
		return cmp.Compare(x, b.(int64))
	case float64:
		return cmp.Compare(x, b.(float64))
	case bool:
		y := b.(bool)
		switch {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	}
	return 0
}

// find is the index of key in d, or the index to insert it at.
func (d datum) find(key any) (int, bool) { return slices.BinarySearchFunc(d.keys, key, compareAtoms) }

func (d datum) equal(o datum) bool {
	return slices.Equal(d.keys, o.keys) && slices.Equal(d.vals, o.vals)
}

// with is d and those elements of o whose key d lacks.
func (d datum) with(o datum) datum {
	isMap := d.vals != nil || o.vals != nil
	out := datum{keys: make([]any, 0, len(d.keys)+len(o.keys))}
	i, j := 0, 0
	take := func(from datum, at int) {
		out.keys = append(out.keys, from.keys[at])
		if isMap {
			out.vals = append(out.vals, from.vals[at])
		}
	}
	for i < len(d.keys) || j < len(o.keys) {
		switch order := mergeOrder(d.keys, i, o.keys, j); {
		case order < 0:
			take(d, i)
			i++
		case order > 0:
			take(o, j)
			j++
		default: // what is there stays
			take(d, i)
			i++
			j++
		}
	}
	return out
}

// mergeOrder compares the heads of two ordered lists, an exhausted one being last.
func mergeOrder(a []any, i int, b []any, j int) int {
	switch {
	case i == len(a):
		return 1
	case j == len(b):
		return -1
	default:
		return compareAtoms(a[i], b[j])
	}
}

// filter keeps the elements for which keep returns true, and returns d itself if that is all of them.
func (d datum) filter(keep func(i int) bool) datum {
	first := -1
	for i := range d.keys {
		if !keep(i) {
			first = i
			break
		}
	}
	if first < 0 {
		return d
	}
	var out datum
	out.keys = append(out.keys, d.keys[:first]...)
	if d.vals != nil {
		out.vals = append(out.vals, d.vals[:first]...)
	}
	for i := first + 1; i < len(d.keys); i++ {
		if keep(i) {
			out.keys = append(out.keys, d.keys[i])
			if d.vals != nil {
				out.vals = append(out.vals, d.vals[i])
			}
		}
	}
	return out
}

// difference is what monitor_cond reports of a change of a set or map: for a set, the elements that are in only one of
// the two; for a map, also the new values of changed keys.
//
// The common prefix and suffix are skipped by comparing values for equality, which costs far less than looking up each
// element in the other list: little of a large set changes at once.
func (d datum) difference(o datum) datum {
	same := func(i, j int) bool { return d.keys[i] == o.keys[j] && (o.vals == nil || d.vals[i] == o.vals[j]) }
	from, n, m := 0, len(d.keys), len(o.keys)
	for from < n && from < m && same(from, from) {
		from++
	}
	for n > from && m > from && same(n-1, m-1) {
		n--
		m--
	}
	var out datum
	take := func(of datum, at int) {
		out.keys = append(out.keys, of.keys[at])
		if of.vals != nil {
			out.vals = append(out.vals, of.vals[at])
		}
	}
	for i, j := from, from; i < n || j < m; {
		switch order := mergeOrder(d.keys[:n], i, o.keys[:m], j); {
		case order < 0:
			take(d, i)
			i++
		case order > 0:
			take(o, j)
			j++
		default:
			if !same(i, j) {
				take(o, j)
			}
			i++
			j++
		}
	}
	return out
}

// decodeWire reads JSON, numbers as json.Number.
func decodeWire(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	return v, err
}

// parseDatum reads a value of type t. names resolves named-uuid, and may be nil.
func parseDatum(v any, t *columnType, names *symbols) (datum, *fault) {
	var elements []any
	tag, list := tagged(v)
	switch {
	case t.value != nil:
		if tag != "map" {
			return datum{}, faultf(syntaxError, `expected ["map", [...]]`)
		}
		elements = list
	case tag == "set":
		elements = list
	default:
		elements = []any{v}
	}
	pairs := make([][2]any, len(elements))
	for i, e := range elements {
		var f *fault
		if t.value == nil {
			pairs[i][0], f = parseAtom(e, &t.key, names)
		} else if kv, ok := e.([]any); ok && len(kv) == 2 {
			if pairs[i][0], f = parseAtom(kv[0], &t.key, names); f == nil {
				pairs[i][1], f = parseAtom(kv[1], t.value, names)
			}
		} else {
			f = faultf(syntaxError, "expected 2-element JSON array")
		}
		if f != nil {
			return datum{}, f
		}
	}
	return collect(pairs, t)
}

// tagged splits a set or map into tag and list. The tag is "" for everything else.
func tagged(v any) (tag string, list []any) {
	pair, ok := v.([]any)
	if !ok || len(pair) != 2 {
		return "", nil
	}
	tag, _ = pair[0].(string)
	if tag != "set" && tag != "map" {
		return "", nil
	}
	list, ok = pair[1].([]any)
	if !ok {
		return "", nil
	}
	return tag, list
}

// collect orders elements into a datum and checks their number.
func collect(pairs [][2]any, t *columnType) (datum, *fault) {
	slices.SortStableFunc(pairs, func(a, b [2]any) int { return compareAtoms(a[0], b[0]) })
	d := datum{keys: make([]any, 0, len(pairs))}
	for i, p := range pairs {
		if i > 0 && pairs[i-1][0] == p[0] {
			if t.value == nil {
				return datum{}, faultf(otherError, "set contains duplicate")
			}
			return datum{}, faultf(otherError, "map contains duplicate key")
		}
		d.keys = append(d.keys, p[0])
		if t.value != nil {
			d.vals = append(d.vals, p[1])
		}
	}
	return d, d.checkSize(t)
}

func (d datum) checkSize(t *columnType) *fault {
	n := len(d.keys)
	if n >= t.min && n <= t.max {
		return nil
	}
	noun := "set"
	if t.value != nil {
		noun = "map"
	}
	if t.min == 1 && t.max == 1 {
		return faultf(syntaxError, "%s must have exactly one member but %d are present", noun, n)
	}
	limit := strconv.Itoa(t.max)
	if t.max > 1<<32 {
		limit = "unlimited"
	}
	return faultf(syntaxError, "%s must have %d to %s members but %d are present", noun, t.min, limit, n)
}

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// parseAtom reads one atom and checks it against its type.
func parseAtom(v any, b *baseType, names *symbols) (any, *fault) {
	var atom any
	switch x := v.(type) {
	case string:
		if b.Kind == "string" {
			atom = x
		}
	case bool:
		if b.Kind == "boolean" {
			atom = x
		}
	case json.Number:
		if n, err := x.Int64(); err == nil && b.Kind == "integer" {
			atom = n
		} else if f, err := x.Float64(); err == nil && b.Kind == "real" {
			atom = f
		}
	case []any:
		if b.Kind != "uuid" || len(x) != 2 {
			break
		}
		text, _ := x[1].(string)
		switch x[0] {
		case "uuid":
			if uuidPattern.MatchString(text) {
				atom = rowID(strings.ToLower(text))
			}
		case "named-uuid":
			if names == nil || text == "" {
				break
			}
			if names.ids[text] == "" { // a row that this transaction may insert later
				names.ids[text] = names.next()
			}
			atom = names.ids[text]
		}
	}
	if atom == nil {
		return nil, faultf(syntaxError, "expected %s", b.Kind)
	}
	return atom, b.check(atom)
}

// check applies the limits of b.
func (b *baseType) check(atom any) *fault {
	if len(b.enum.keys) > 0 {
		if _, ok := b.enum.find(atom); !ok {
			return faultf(constraintViolation, "%s is not one of the allowed values ([%s])", quoteEmpty(plain(atom)), b.enum.list())
		}
	}
	switch x := atom.(type) {
	case int64:
		if b.MinInteger != nil && x < *b.MinInteger || b.MaxInteger != nil && x > *b.MaxInteger {
			return faultf(constraintViolation, "%d is not in the valid range%s", x, span(b.MinInteger, b.MaxInteger))
		}
	case float64:
		if b.MinReal != nil && x < *b.MinReal || b.MaxReal != nil && x > *b.MaxReal {
			return faultf(constraintViolation, "%g is not in the valid range%s", x, span(b.MinReal, b.MaxReal))
		}
	case string:
		n := len([]rune(x))
		if b.MinLength != nil && n < *b.MinLength {
			return faultf(constraintViolation, "%q length %d is less than minimum allowed length %d", x, n, *b.MinLength)
		}
		if b.MaxLength != nil && n > *b.MaxLength {
			return faultf(constraintViolation, "%q length %d is greater than maximum allowed length %d", x, n, *b.MaxLength)
		}
	}
	return nil
}

func span[N any](from, to *N) string {
	var b strings.Builder
	if from != nil {
		fmt.Fprintf(&b, " from %v", *from)
	}
	if to != nil {
		fmt.Fprintf(&b, " to %v", *to)
	}
	return b.String()
}

func quoteEmpty(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// plain formats an atom for error messages.
func plain(atom any) string { return fmt.Sprint(atom) }

// list formats the elements of a set for error messages.
func (d datum) list() string {
	words := make([]string, len(d.keys))
	for i, k := range d.keys {
		words[i] = plain(k)
	}
	return strings.Join(words, ", ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
