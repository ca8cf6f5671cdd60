package ovsdb

import "github.com/ovn-kubernetes/libovsdb/ovsdb"

// Set makes the value of a set column.
func Set[E string | ovsdb.UUID](elements []E) ovsdb.OvsSet {
	set := ovsdb.OvsSet{GoSet: make([]any, len(elements))}
	for i, e := range elements {
		set.GoSet[i] = e
	}
	return set
}

// UUIDs makes the value of a column of references.
func UUIDs(uuids []string) ovsdb.OvsSet {
	set := ovsdb.OvsSet{GoSet: make([]any, len(uuids))}
	for i, id := range uuids {
		set.GoSet[i] = ovsdb.UUID{GoUUID: id}
	}
	return set
}

// Map makes the value of a map column.
func Map(m map[string]string) ovsdb.OvsMap {
	value := ovsdb.OvsMap{GoMap: make(map[any]any, len(m))}
	for k, v := range m {
		value.GoMap[k] = v
	}
	return value
}

// Strings reads a column of strings or references as Select returns it: a server encodes a set of one as its element.
// Anything else is skipped.
func Strings(value any) []string {
	set, ok := value.(ovsdb.OvsSet)
	if !ok {
		if s, ok := atomString(value); ok {
			return []string{s}
		}
		return nil
	}
	if len(set.GoSet) == 0 {
		return nil
	}
	out := make([]string, 0, len(set.GoSet))
	for _, e := range set.GoSet {
		if s, ok := atomString(e); ok {
			out = append(out, s)
		}
	}
	return out
}

// String reads a column with one string or reference, or none, which is "".
func String(value any) string {
	if all := Strings(value); len(all) > 0 {
		return all[0]
	}
	return ""
}

// StringMap reads a map of strings. It is never nil.
func StringMap(value any) map[string]string {
	m, _ := value.(ovsdb.OvsMap)
	out := make(map[string]string, len(m.GoMap))
	for k, v := range m.GoMap {
		key, ok := atomString(k)
		text, ok2 := atomString(v)
		if ok && ok2 {
			out[key] = text
		}
	}
	return out
}

// Int reads a column with one integer, or none, which is zero.
func Int(value any) int {
	switch v := value.(type) {
	case float64:
		return int(v)
	case int:
		return v
	case ovsdb.OvsSet:
		if len(v.GoSet) > 0 {
			return Int(v.GoSet[0])
		}
	}
	return 0
}

// Bool reads a column with one boolean, or none, which is false.
func Bool(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case ovsdb.OvsSet:
		if len(v.GoSet) > 0 {
			return Bool(v.GoSet[0])
		}
	}
	return false
}

func atomString(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case ovsdb.UUID:
		return v.GoUUID, true
	}
	return "", false
}
